/** Contract: counts, ages and counters. */
import { expect, it } from '@jest/globals';
import { STATS } from '#lib/store/job-store.js';
import { LONG_MS, OUTCOMES, PASSED_MS, unique, useStore, type ContractFactory } from './contract-store.js';

/** Two minutes, for a minute may turn over during a test. */
const WINDOW_MS = 120_000;

export function describeStatistics(factory: ContractFactory): void {
  const driver = useStore(factory);

  it('of an empty queue are all 0', async () => {
    const zeros = Object.fromEntries(STATS.map((stat) => [stat, 0]));
    expect(await driver().store.snapshot()).toEqual({
      counts: {
        scheduled: 0,
        queued: 0,
        blocked: 0,
        processing: 0,
        retrying: 0,
        done: 0,
        dead: 0,
        cancelled: 0,
      },
      paused: false,
      oldestReadyAgeMs: 0,
      lifetime: zeros,
    });
    expect(await driver().store.recent(STATS, WINDOW_MS)).toEqual(zeros);
  });

  it('mark the queue: since when a worker is on record, and more with everything that happens', async () => {
    const { store } = driver();
    expect(await store.mark()).toEqual({ createdAt: undefined, counted: 0 });
    const worker = { workerId: 'w1', host: 'test', pid: 1, slots: 1 };
    await store.renew(worker, [], LONG_MS);
    const first = await store.mark();
    expect(first).toEqual({ createdAt: expect.any(Number), counted: 0 });
    await store.renew({ ...worker, workerId: 'w2' }, [], LONG_MS);
    await driver().run('done', OUTCOMES.done);
    expect(await store.mark()).toEqual({ createdAt: first.createdAt, counted: 2 });
    await driver().enqueue('queued');
    expect(await store.mark()).toEqual({ createdAt: first.createdAt, counted: 3 });
  });

  it('count every status', async () => {
    await driver().run('done', OUTCOMES.done);
    await driver().run('dead', OUTCOMES.dead);
    await driver().run('cancelled', OUTCOMES.cancelled);
    await driver().run('retrying', OUTCOMES.retry);
    await driver().enqueue('processing');
    await driver().claimOne();
    await driver().enqueue('scheduled', { delayMs: LONG_MS });
    await driver().enqueue('queued', { priority: 1 });
    await driver().enqueue('queued-too', { priority: 8 });
    expect(await driver().counts()).toEqual({
      scheduled: 1,
      queued: 2,
      processing: 1,
      retrying: 1,
      done: 1,
      dead: 1,
      cancelled: 1,
    });
  });

  it('sum counters over the last minutes', async () => {
    await driver().run('a', OUTCOMES.done);
    await driver().run('b', OUTCOMES.done);
    await driver().run('c', OUTCOMES.retry);
    const recent = await driver().store.recent(['done', 'retried', 'dead'], WINDOW_MS);
    expect(recent).toEqual({ done: 2, retried: 1, dead: 0 });
    expect(await driver().store.recent(['enqueued'], 7_200_000)).toEqual({ enqueued: 3 });
  });

  it('count what no transition counts', async () => {
    await driver().store.count('runaways', 2);
    await driver().store.count('runaways', 1);
    expect(await driver().lifetime()).toMatchObject({ runaways: 3 });
    expect(await driver().store.recent(['runaways'], WINDOW_MS)).toEqual({ runaways: 3 });
  });

  it('tell how long the head of the queue has waited', async () => {
    await driver().enqueue('old', { priority: 9 });
    await driver().advance(PASSED_MS);
    await driver().enqueue('new', { priority: 0 });
    const { oldestReadyAgeMs } = await driver().store.snapshot();
    expect(oldestReadyAgeMs).toBeGreaterThanOrEqual(PASSED_MS);

    await driver().claim();
    expect(await driver().store.snapshot()).toMatchObject({ oldestReadyAgeMs: 0 });
  });

  it('look past a head that was cancelled', async () => {
    await driver().enqueue('cancelled');
    await driver().advance(PASSED_MS);
    await driver().enqueue('removed');
    await driver().advance(PASSED_MS);
    await driver().enqueue('next');
    await driver().store.cancel('cancelled');
    await driver().store.remove('removed');
    await driver().advance(PASSED_MS);
    const { oldestReadyAgeMs } = await driver().store.snapshot();
    const { spec } = await driver().read('next');
    expect(oldestReadyAgeMs).toBeGreaterThanOrEqual(PASSED_MS);
    const { now } = await driver().exchange({ claimMax: 1 });
    expect(oldestReadyAgeMs).toBeLessThanOrEqual(Number(now) - createdAt(spec));
  });

  it('look past the former place of a job that was put off and came back', async () => {
    const keys = { dedup: unique('key', { onDuplicate: 'replace' }) };
    await driver().enqueue('a', { keys });
    await driver().advance(PASSED_MS);
    await driver().enqueue('a is late', { keys, delayMs: LONG_MS });
    await driver().enqueue('next');
    await driver().enqueue('a comes at once', { keys });
    expect(await driver().idsOf('queued')).toEqual(['next', 'a']);
    const { oldestReadyAgeMs } = await driver().store.snapshot();
    expect(oldestReadyAgeMs).toBeLessThan(PASSED_MS);
  });

  it('tell the age since creation also of a job that was scheduled first', async () => {
    await driver().enqueue('a', { delayMs: 30 });
    await driver().advance(PASSED_MS);
    await driver().store.promote(10);
    const { oldestReadyAgeMs } = await driver().store.snapshot();
    expect(oldestReadyAgeMs).toBeGreaterThanOrEqual(PASSED_MS);
  });
}

function createdAt(spec: string | undefined): number {
  return Number(/^\{"created_at":(\d+)/.exec(spec ?? '')?.[1]);
}
