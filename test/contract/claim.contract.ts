/** Contract: taking ready jobs, in order, each by one worker. */
import { expect, it } from '@jest/globals';
import {
  LONG_MS,
  newJob,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  useStore,
  type ContractFactory,
} from './contract-store.js';

export function describeClaim(factory: ContractFactory): void {
  const driver = useStore(factory);

  it('claims nothing from an empty queue', async () => {
    expect(await driver().exchange({ claimMax: 5 })).toEqual({
      settled: [],
      claimed: [],
      blocked: [],
      replayed: [],
      more: false,
      nextDueInMs: undefined,
      now: expect.any(Number),
    });
  });

  it('gives a lease with a token on each job', async () => {
    await driver().enqueue('a');
    const { claimed, now } = await driver().exchange({ claimMax: 5, workerId: 'worker-7' });

    const record = await driver().read('a');
    expect(claimed).toEqual([
      { jobId: 'a', token: record.token, attempt: 1, spec: record.spec, firstRefusedAt: undefined },
    ]);
    expect(record).toMatchObject({ status: 'processing', attempt: 1, workerId: 'worker-7', startedAt: now });
    expect(record.updatedAt).toBe(now);
    expect(record.token).toBeGreaterThan(0);
    expect(Number.isSafeInteger(record.token)).toBe(true);
    expect(record.leaseExpiresAt).toBe(Number(now) + LONG_MS);
  });

  it('is first in, first out', async () => {
    await driver().enqueueAll('a', 'b', 'c');
    await driver().enqueueAll('d', 'e');
    expect(await driver().claimIds(2)).toEqual(['a', 'b']);
    expect(await driver().claimIds(2)).toEqual(['c', 'd']);
    expect(await driver().claimIds(2)).toEqual(['e']);
  });

  it('takes the first priority first, in order within each', async () => {
    const priorities = [5, 9, 0, 5, 1, 9, 0];
    await driver().store.enqueue(priorities.map((priority, i) => newJob(`${priority}-${i}`, { priority })));
    expect(await driver().claimIds(3)).toEqual(['0-2', '0-6', '1-4']);
    expect(await driver().claimIds(10)).toEqual(['5-0', '5-3', '9-1', '9-5']);
  });

  it('mints tokens that only grow', async () => {
    await driver().enqueueAll('a', 'b', 'c', 'd');
    const tokens = [
      ...(await driver().claim(2)),
      ...(await driver().claim(1, { workerId: 'worker-2' })),
      ...(await driver().claim(1, { lane: 1 })),
    ].map(({ token }) => token);

    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
    expect(new Set(tokens).size).toBe(4);
  });

  it('never gives one job to two workers', async () => {
    const ids = Array.from({ length: 100 }, (_, i) => `job-${i}`);
    await driver().enqueueAll(...ids);
    const claims = await Promise.all(
      Array.from({ length: 24 }, (_, i) => {
        return driver().claim(5, { workerId: `worker-${i % 4}`, lane: i % 2, number: i + 1 });
      }),
    );

    const claimed = claims.flat().map(({ jobId }) => jobId);
    expect(claimed).toHaveLength(100);
    expect(new Set(claimed)).toEqual(new Set(ids));
    expect(new Set(claims.flat().map(({ token }) => token)).size).toBe(100);
  });

  it('says whether ready jobs are left', async () => {
    await driver().enqueueAll('a', 'b', 'c');
    expect(await driver().exchange({ claimMax: 2 })).toMatchObject({ more: true });
    expect(await driver().exchange({ claimMax: 1 })).toMatchObject({ more: false });
  });

  it('touches nothing when nothing is to be claimed', async () => {
    await driver().enqueue('a', { delayMs: SHORT_MS });
    await driver().enqueue('b');
    await driver().advance(PASSED_MS);

    expect(await driver().exchange({ claimMax: 0 })).toEqual({
      settled: [],
      claimed: [],
      blocked: [],
      replayed: [],
      more: false,
      nextDueInMs: undefined,
      now: undefined,
    });
    expect(await driver().counts()).toEqual({ scheduled: 1, queued: 1 });
  });

  it('promotes due jobs first, to the tail', async () => {
    await driver().store.enqueue([
      newJob('late', { delayMs: SHORT_MS }),
      newJob('early', { delayMs: SHORT_MS - 10 }),
      newJob('ready'),
      newJob('first', { delayMs: SHORT_MS, priority: 0 }),
    ]);
    await driver().advance(PASSED_MS);
    expect(await driver().claimIds()).toEqual(['first', 'ready', 'early', 'late']);
  });

  it('promotes many due jobs even for a small claim', async () => {
    await driver().store.enqueue(Array.from({ length: 50 }, (_, i) => newJob(`${i}`, { delayMs: SHORT_MS })));
    await driver().advance(PASSED_MS);
    expect(await driver().exchange({ claimMax: 1 })).toMatchObject({ more: true, nextDueInMs: undefined });
    expect(await driver().counts()).toEqual({ queued: 49, processing: 1 });
  });

  it('says when the next scheduled or retrying job is due', async () => {
    await driver().run('a', { ...OUTCOMES.retry, delayMs: 30_000 });
    await driver().enqueue('b', { delayMs: LONG_MS });
    const { nextDueInMs: untilRetry } = await driver().exchange({ claimMax: 1 });
    expect(untilRetry).toBeLessThanOrEqual(30_000);
    expect(untilRetry).toBeGreaterThan(20_000);

    await driver().enqueue('c', { delayMs: 10_000 });
    const { nextDueInMs: untilScheduled } = await driver().exchange({ claimMax: 1 });
    expect(untilScheduled).toBeLessThanOrEqual(10_000);
    expect(untilScheduled).toBeGreaterThan(0);
  });

  it('settles and claims in one call', async () => {
    await driver().enqueueAll('a', 'b');
    const { jobId, token } = await driver().claimOne();
    const reply = await driver().exchange({
      settlements: [{ jobId, token, outcome: OUTCOMES.done }],
      claimMax: 1,
    });
    expect(reply.settled).toEqual([{ applied: true, status: 'done' }]);
    expect(reply.claimed.map((job) => job.jobId)).toEqual(['b']);
    expect(await driver().counts()).toEqual({ done: 1, processing: 1 });
  });
}
