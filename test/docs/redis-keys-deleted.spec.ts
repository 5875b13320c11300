/** What docs/redis-keys.md says happens when a key is deleted by hand, done to a real Redis. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  LONG_MS,
  newJob,
  once,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  StoreDriver,
  worker,
} from '../contract/contract-store.js';
import { openRedisStore, type RedisStoreHarness } from '../support/redis-store.js';

let harness: RedisStoreHarness;
let driver: StoreDriver;

/** Long enough that a slow machine gets a few commands done before it has passed. */
const DELAY_MS = 300;

beforeEach(async () => {
  harness = await openRedisStore();
  driver = new StoreDriver({
    store: harness.store,
    advance: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    close: harness.close,
  });
});
afterEach(() => driver.close());

const deleteKeys = (...names: string[]): Promise<number> => harness.redis.del(...names.map(harness.key));
const statusOf = async (id: string): Promise<string | undefined> => (await driver.find(id))?.status;
const claimIds = () => driver.claimIds();
const counts = () => driver.counts();
const beat = () => driver.store.renew(worker('worker-1'), [], LONG_MS);
const reapNow = async () => (await driver.store.reap(PASSED_MS / 2, 10)).reaped.map(({ jobId }) => jobId);

describe('a deleted list or index', () => {
  it('queued: its jobs stay queued and nobody claims them, until their ids are pushed again', async () => {
    await driver.enqueueAll('a', 'b');
    await deleteKeys('queued:5');
    expect(await statusOf('a')).toBe('queued');
    expect(await counts()).toEqual({});
    expect(await claimIds()).toEqual([]);
    await harness.redis.rpush(harness.key('queued:5'), 'a', 'b');
    expect(await claimIds()).toEqual(['a', 'b']);
  });

  it('processing: the heartbeat puts the leases of living workers back', async () => {
    await driver.enqueue('a');
    const { jobId, token } = await driver.claimOne();
    await deleteKeys('processing');
    expect(await counts()).toEqual({});
    expect(await statusOf('a')).toBe('processing');
    await driver.store.renew(worker('worker-1'), [{ jobId, token }], LONG_MS);
    expect(await counts()).toEqual({ processing: 1 });
    expect(await driver.settle({ jobId, token }, OUTCOMES.done)).toEqual({ applied: true, status: 'done' });
  });

  it('processing: the reaper finds the jobs of silent workers', async () => {
    await driver.enqueue('a');
    await beat();
    await driver.claimOne();
    await deleteKeys('processing');
    await driver.advance(PASSED_MS);
    expect(await reapNow()).toEqual(['a']);
    expect(await claimIds()).toEqual(['a']);
  });

  it('scheduled: a job that never ran reads as queued and is stuck, until its id is added again', async () => {
    await driver.enqueue('a', { delayMs: LONG_MS });
    await deleteKeys('scheduled');
    expect(await statusOf('a')).toBe('queued');
    expect(await claimIds()).toEqual([]);
    await harness.redis.zadd(harness.key('scheduled'), 0, 'a');
    expect(await claimIds()).toEqual(['a']);
  });

  it('scheduled, retry: one that ran keeps its status and is stuck, until its id is added again', async () => {
    await driver.run('a', OUTCOMES.snooze);
    await driver.run('b', OUTCOMES.retry);
    await deleteKeys('scheduled', 'retry');
    expect(await statusOf('a')).toBe('scheduled');
    expect(await statusOf('b')).toBe('retrying');
    expect(Number(await harness.redis.hget(harness.key('run:b'), 'due_at'))).toBeGreaterThan(Date.now());
    expect(await claimIds()).toEqual([]);
    await harness.redis.zadd(harness.key('scheduled'), 0, 'a');
    await harness.redis.zadd(harness.key('retry'), 0, 'b');
    expect(await claimIds()).toEqual(['a', 'b']);
  });

  it('dead: the job is not listed, counted or pruned any more, but can be read and redriven', async () => {
    await driver.run('a', OUTCOMES.dead);
    await deleteKeys('dead');
    expect(await counts()).toEqual({});
    expect(await statusOf('a')).toBe('dead');
    expect(await driver.store.redrive('a')).toEqual({ kind: 'moved', from: 'dead' });
    expect(await claimIds()).toEqual(['a']);
  });

  it('queued: what waits for a key reserved for one of its jobs is stuck too, until its id is pushed again', async () => {
    await driver.enqueueWith({ resource: 'r' }, 'a', 'b', 'c');
    const [holder] = await driver.claim();
    if (holder) await driver.settle(holder, OUTCOMES.done);
    await deleteKeys('queued:5');
    await reapNow();
    expect(await claimIds()).toEqual([]);
    expect(await statusOf('b')).toBe('queued');
    expect(await statusOf('c')).toBe('blocked');
    await harness.redis.rpush(harness.key('queued:5'), 'b');
    expect(await driver.drain()).toEqual(['b', 'c']);
  });

  it('blocked: its jobs are not listed and not counted, and run when their turn comes', async () => {
    await driver.enqueueWith({ resource: 'r' }, 'a', 'b', 'c');
    const [holder] = await driver.claim();
    await deleteKeys('blocked');
    expect(await statusOf('b')).toBe('blocked');
    expect(await driver.idsOf('blocked')).toEqual([]);
    expect(await counts()).toEqual({ processing: 1 });
    if (holder) await driver.settle(holder, OUTCOMES.done);
    expect(await driver.drain()).toEqual(['b', 'c']);
  });

  it('blocked, and the list in which its jobs wait: they are stuck, until their ids are added again', async () => {
    await driver.enqueueWith({ resource: 'r' }, 'a', 'b');
    const [holder] = await driver.claim();
    await deleteKeys('blocked', 'waiting:resource:r');
    if (holder) await driver.settle(holder, OUTCOMES.done);
    await reapNow();
    expect(await claimIds()).toEqual([]);
    expect(await statusOf('b')).toBe('blocked');
    await harness.redis.zadd(harness.key('blocked'), 0, 'b');
    await reapNow();
    expect(await claimIds()).toEqual(['b']);
  });

  it('gone: entries of cancelled and removed jobs are still passed over', async () => {
    await driver.enqueueAll('a', 'b', 'c');
    await driver.store.cancel('a');
    await driver.store.remove('b');
    await deleteKeys('gone');
    expect(await counts()).toEqual({ queued: 3, cancelled: 1 });
    expect(await claimIds()).toEqual(['c']);
    expect(await counts()).toEqual({ processing: 1, cancelled: 1 });
  });

  it('gone: a job that was removed and enqueued again with a delay runs early, and again when it is due', async () => {
    await driver.enqueue('a');
    await driver.store.remove('a');
    await driver.enqueue('a', { delayMs: DELAY_MS });
    await deleteKeys('gone');
    const early = await driver.claimOne();
    await driver.settle(early, OUTCOMES.done);
    expect(await statusOf('a')).toBe('done');
    await driver.advance(DELAY_MS);
    expect(await claimIds()).toEqual(['a']);
  });
});

describe('a deleted key of one job', () => {
  it('job: a job that never ran is gone', async () => {
    await driver.enqueue('a');
    await deleteKeys('job:a');
    expect(await driver.find('a')).toBeUndefined();
    expect(await counts()).toEqual({ queued: 1 });
    expect(await claimIds()).toEqual([]);
    expect(await counts()).toEqual({});
  });

  it('job: one that ran before is claimed without a spec', async () => {
    await driver.run('a', { ...OUTCOMES.retry, delayMs: 0 });
    await deleteKeys('job:a');
    expect(await driver.claim()).toMatchObject([{ jobId: 'a', attempt: 2, spec: '' }]);
  });

  it('job: the id of an ended job can be enqueued again, and starts from nothing', async () => {
    await driver.run('a', OUTCOMES.dead);
    await deleteKeys('job:a');
    expect(await driver.enqueue('a')).toMatchObject({ duplicate: false, status: 'queued' });
    expect(await driver.read('a')).toMatchObject({ status: 'queued', attempt: 0, error: undefined });
    expect(await counts()).toEqual({ queued: 1 });
  });

  it('run: a queued job runs all the same, its attempts and its priority forgotten', async () => {
    await driver.enqueue('a', { priority: 3 });
    await driver.settle(await driver.claimOne(), OUTCOMES.release);
    await deleteKeys('run:a');
    expect(await driver.claim()).toMatchObject([{ jobId: 'a', attempt: 1 }]);
    expect(await driver.read('a')).toMatchObject({ priority: 5 });
  });

  it('run: a retrying job reads as queued and runs when it is due, its attempts forgotten', async () => {
    await driver.run('a', { ...OUTCOMES.retry, delayMs: DELAY_MS });
    await deleteKeys('run:a');
    expect(await statusOf('a')).toBe('queued');
    expect(await claimIds()).toEqual([]);
    await driver.advance(DELAY_MS);
    expect(await driver.claim()).toMatchObject([{ jobId: 'a', attempt: 1 }]);
  });

  it('run: a running job is lost to its worker, and runs again when its lease entry expires', async () => {
    await driver.enqueue('a');
    const { token } = await driver.claimOne({ leaseMs: SHORT_MS });
    await deleteKeys('run:a');
    const { lost } = await driver.store.renew(worker('worker-1'), [{ jobId: 'a', token }], LONG_MS);
    expect(lost).toEqual(['a']);
    expect(await driver.settle({ jobId: 'a', token }, OUTCOMES.done)).toMatchObject({ applied: false });
    await driver.advance(PASSED_MS);
    expect(await reapNow()).toEqual(['a']);
    expect(await driver.claim()).toMatchObject([{ jobId: 'a', attempt: 1 }]);
  });

  it('run: an ended job reads as queued, never runs, and its other keys stay for ever', async () => {
    await driver.run('a', OUTCOMES.done);
    await deleteKeys('run:a');
    expect(await statusOf('a')).toBe('queued');
    expect(await claimIds()).toEqual([]);
    expect(await counts()).toEqual({ done: 1 });
  });

  it('job: one that had an idempotency key and never ran leaves the fingerprint of that behind', async () => {
    await driver.enqueueWith({ idempotency: once('i') }, 'a');
    await deleteKeys('job:a');
    expect(await driver.find('a')).toBeUndefined();
    expect(await claimIds()).toEqual([]);
    const other = { keys: { idempotency: once('i', { fingerprint: 'other' }) } };
    expect(await driver.enqueue('b', other)).toMatchObject({ refused: 'idempotency_conflict' });
    await deleteKeys('idempotency:i');
    expect(await driver.enqueue('b', other)).toMatchObject({ jobId: 'b', duplicate: false });
  });

  it('job: one that was blocked is claimed without a spec', async () => {
    await driver.enqueueWith({ resource: 'r' }, 'a', 'b');
    const [holder] = await driver.claim();
    await deleteKeys('job:b');
    if (holder) await driver.settle(holder, OUTCOMES.done);
    expect(await driver.claim()).toMatchObject([{ jobId: 'b', spec: '' }]);
  });

  it('run: a blocked job runs at the first claim after a reap, beside the one it waited for', async () => {
    await driver.enqueueWith({ resource: 'r' }, 'a', 'b');
    expect(await claimIds()).toEqual(['a']);
    await deleteKeys('run:b');
    expect(await claimIds()).toEqual([]);
    await reapNow();
    expect(await claimIds()).toEqual(['b']);
    expect(await driver.read('b')).toMatchObject({ resourceKey: undefined });
    expect(await counts()).toEqual({ processing: 2 });
  });

  it('run: nobody waits any more for a running job', async () => {
    await driver.enqueueWith({ resource: 'r' }, 'a', 'b');
    expect(await claimIds()).toEqual(['a']);
    await deleteKeys('run:a');
    await reapNow();
    expect(await claimIds()).toEqual(['b']);
  });

  it('result, error, checkpoint: only that value is gone', async () => {
    await driver.run('a', OUTCOMES.done);
    await driver.run('b', OUTCOMES.dead);
    await deleteKeys('result:a', 'error:b', 'checkpoint:a');
    expect(await driver.read('a')).toMatchObject({ status: 'done', result: undefined });
    expect(await driver.read('b')).toMatchObject({ status: 'dead', error: undefined });
  });
});

describe('a deleted key of the queue or of a worker', () => {
  it('fence: the next token is greater all the same', async () => {
    await driver.enqueueAll('a', 'b');
    const { token } = await driver.claimOne();
    await deleteKeys('fence');
    expect((await driver.claimOne()).token).toBeGreaterThan(token);
  });

  it('meta: a paused queue runs again', async () => {
    await driver.enqueue('a');
    await driver.store.pause();
    expect(await claimIds()).toEqual([]);
    await deleteKeys('meta');
    expect(await claimIds()).toEqual(['a']);
  });

  it('workers: it comes back with the next heartbeat', async () => {
    await beat();
    await deleteKeys('workers', 'worker:worker-1');
    await beat();
    expect(await harness.redis.zscore(harness.key('workers'), 'worker-1')).not.toBeNull();
    expect(await harness.redis.hget(harness.key('worker:worker-1'), 'host')).toBe('test');
  });

  it('worker: a repeated call is carried out once more: the settlement is stale, the claim takes other jobs', async () => {
    await driver.enqueueAll('a', 'b');
    const { jobId, token } = await driver.claimOne();
    const call = { number: 7, settlements: [{ jobId, token, outcome: OUTCOMES.done }], claimMax: 0 };
    expect((await driver.exchange(call)).settled).toEqual([{ applied: true, status: 'done' }]);
    expect((await driver.exchange(call)).settled).toEqual([{ applied: true, status: 'done' }]);
    await deleteKeys('worker:worker-1');
    expect((await driver.exchange(call)).settled).toMatchObject([{ applied: false, status: 'done' }]);
    expect(await statusOf('a')).toBe('done');
  });

  it('held: a repeated claim does not find its jobs again', async () => {
    await driver.enqueue('a');
    await driver.exchange({ number: 1, claimMax: 1 });
    expect((await driver.exchange({ number: 1, claimMax: 1 })).claimed).toHaveLength(1);
    await deleteKeys('held:worker-1');
    expect((await driver.exchange({ number: 1, claimMax: 1 })).claimed).toEqual([]);
  });

  it('held and processing of a dead worker: the job is stuck, until it is given an expired lease by hand', async () => {
    await beat();
    await driver.enqueue('a');
    await driver.claimOne({ leaseMs: SHORT_MS });
    await deleteKeys('held:worker-1', 'processing');
    await driver.advance(PASSED_MS);
    expect(await reapNow()).toEqual([]);
    expect(await driver.store.remove('a')).toEqual({ kind: 'illegal', status: 'processing' });
    await harness.redis.zadd(harness.key('processing'), 0, 'a');
    expect(await reapNow()).toEqual(['a']);
  });

  it('stats: the counters start again', async () => {
    await driver.run('a', OUTCOMES.done);
    await deleteKeys('stats');
    expect(await driver.lifetime()).toMatchObject({ enqueued: 0, done: 0 });
    await driver.store.enqueue([newJob('b')]);
    expect(await driver.lifetime()).toMatchObject({ enqueued: 1 });
  });
});
