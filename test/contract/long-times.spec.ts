/** What stores must do after times that no test can wait for: both by a clock of the test. */
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { SupersededCallError } from '#lib/errors/errors.js';
import { DEFAULTS } from '#lib/options/defaults.js';
import type { JobStore } from '#lib/store/job-store.js';
import type { LockStore } from '#lib/store/lock-store.js';
import { MemoryJobStore } from '#lib/store/memory/memory-job-store.js';
import { MemoryLockStore } from '#lib/store/memory/memory-lock-store.js';
import { MemoryLocks } from '#lib/store/memory/memory-locks.js';
import { RedisJobStore } from '#lib/store/redis/redis-job-store.js';
import { RedisLockStore } from '#lib/store/redis/redis-lock-store.js';
import { ClockedRedis } from '../support/clocked-redis.js';
import { LONG_MS, once, OUTCOMES, StoreDriver, unique, worker } from './contract-store.js';

const HOUR_MS = 3_600_000;
const OPTIONS = { queue: 'jobs', retention: DEFAULTS.queue.retention };

let clocked: ClockedRedis;
beforeAll(async () => {
  clocked = await ClockedRedis.start();
});
afterAll(() => clocked.close());
beforeEach(() => clocked.startOver());

const now = (): number => clocked.now();
const openJobs: Readonly<Record<string, () => JobStore>> = {
  memory: () => new MemoryJobStore({ ...OPTIONS, clock: now }),
  redis: () => new RedisJobStore(clocked.connection, { ...OPTIONS, prefix: 'long' }),
};
const openLocks: Readonly<Record<string, () => LockStore>> = {
  memory: () => new MemoryLockStore(new MemoryLocks(now)),
  redis: () => new RedisLockStore(clocked.connection, 'long'),
};

describe.each(Object.entries(openJobs))('a job store after a long time: %s', (_name, open) => {
  let driver: StoreDriver;
  beforeEach(() => {
    driver = new StoreDriver({ store: open(), advance: (ms) => clocked.pass(ms), close: async () => {} });
  });

  it('forgets a worker by its last heartbeat, not by its last call', async () => {
    await driver.store.renew(worker('worker-1'), [], LONG_MS);
    await driver.advance(HOUR_MS + 1);
    await driver.claim(1, { number: 5 });
    await driver.store.reap(LONG_MS, 10);
    expect(await driver.claim(1, { number: 1 })).toEqual([]);
  });

  it('keeps the calls of a worker that never sent a heartbeat', async () => {
    await driver.claim(1, { number: 5 });
    await driver.advance(2 * HOUR_MS);
    await driver.store.reap(LONG_MS, 10);
    await expect(driver.claim(1, { number: 1 })).rejects.toBeInstanceOf(SupersededCallError);
  });

  it('runs an operation again once its result has run out', async () => {
    const keys = { idempotency: once('i', { ttlMs: 24 * HOUR_MS }) };
    await driver.enqueue('first', { keys });
    await driver.settle(await driver.claimOne(), OUTCOMES.done);
    await driver.enqueue('second', { keys });
    await driver.enqueue('third', { keys, delayMs: 24 * HOUR_MS });
    expect(await driver.drain()).toEqual([]);
    await driver.advance(24 * HOUR_MS);
    expect(await driver.drain()).toEqual(['third']);
  });

  it('lets another job own a dedup key whose window is over, and the former owner no more', async () => {
    const keys = { dedup: unique('d', { windowMs: HOUR_MS }) };
    await driver.enqueue('first', { keys });
    await driver.advance(HOUR_MS);
    expect(await driver.enqueue('second', { keys })).toMatchObject({ jobId: 'second', duplicate: false });
    await driver.store.remove('first');
    expect(await driver.enqueue('third', { keys })).toMatchObject({ jobId: 'second', duplicate: true });
  });
});

describe.each(Object.entries(openLocks))('a lock store after a long time: %s', (_name, open) => {
  it('does not count waiters of whom the last has long been dead', async () => {
    const store = open();
    const request = { name: 'lock', ttlMs: 30_000, waitMs: LONG_MS };
    const held = await store.acquire({ ...request, owner: 'holder' });
    if (!held.granted) throw new Error('the lock was free');
    await store.acquire({ ...request, owner: 'dead' });
    await clocked.pass(16_000);
    await store.renew([{ name: 'lock', owner: 'holder', token: held.token, ttlMs: 1_000 }]);
    // The first in line comes when the holder's time is up.
    expect(await store.acquire({ ...request, owner: 'alive' })).toEqual({ granted: false, recheckMs: 1_001 });
  });
});
