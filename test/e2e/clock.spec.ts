/** Producers and workers whose clocks are wrong: only the clock of Redis counts (sidekiq/sidekiq#2800). */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { QUICK_QUEUE, startApp, type TestApp } from '../support/nest-app.js';
import { openRedis } from '../support/redis.js';
import { WorkerChildren } from '../support/worker-child.js';

jest.setTimeout(30_000);

const HOUR_MS = 3_600_000;
const LEASE_MS = 1_500;
const DELAY_MS = 700;
/** How far apart two looks at the clock may be on a busy machine. */
const TOLERANCE_MS = 1_000;
const OPTIONS = {
  queues: [{ ...QUICK_QUEUE, leaseMs: LEASE_MS, retention: { done: { ageMs: HOUR_MS / 2 } } }],
  maintenance: { reapIntervalMs: 1_000, pruneIntervalMs: 1_000, promoteIntervalMs: 1_000 },
};

describe.each([
  ['ahead', 'behind', HOUR_MS],
  ['behind', 'ahead', -HOUR_MS],
])('a producer an hour %s and a worker an hour %s', (_producer, _worker, shiftMs) => {
  let app: TestApp;
  let redis: Redis;
  const children = new WorkerChildren(() => ({ prefix: app.prefix, module: OPTIONS }));

  beforeEach(async () => {
    redis = openRedis();
    app = await startApp({ options: { ...OPTIONS, worker: false } });
  });
  afterEach(async () => {
    await children.killAll();
    await app.close();
    redis.disconnect();
  });

  async function redisTime(): Promise<number> {
    const [seconds = 0, micros = 0] = await redis.time();
    return seconds * 1_000 + micros / 1_000;
  }

  function expectNear(actual: number | undefined, expected: number): void {
    expect(Math.abs((actual ?? 0) - expected)).toBeLessThan(TOLERANCE_MS);
  }

  it('due times, leases, retention and counters follow the clock of Redis', async () => {
    const [producer, worker] = await Promise.all([
      children.start({ clockShiftMs: shiftMs, module: { ...OPTIONS, worker: false } }),
      children.start({ clockShiftMs: -shiftMs }),
    ]);
    await producer.enqueue({ type: 'quick', payload: {}, options: { jobId: 'early' } });
    expectNear((await worker.started('early')).wallClock, (await redisTime()) - shiftMs);

    const enqueuedAt = await redisTime();
    await producer.enqueue({ type: 'hold', payload: {}, options: { jobId: 'later', delayMs: DELAY_MS } });
    const waiting = await app.inspector.get('later');
    expectNear(waiting.createdAt, enqueuedAt);
    expectNear(waiting.dueAt, enqueuedAt + DELAY_MS);

    await worker.started('later');
    const running = await app.inspector.get('later');
    expect(running.startedAt).toBeGreaterThanOrEqual(waiting.dueAt ?? Infinity);
    expectNear(running.startedAt, waiting.dueAt ?? 0);
    expectNear(running.leaseExpiresAt, (await redisTime()) + LEASE_MS);
    // Tokens are times of Redis, in microseconds.
    expectNear((running.fencingToken ?? 0) / 1_000, running.startedAt ?? 0);

    // Renewed past its first end, it is still the worker's, and nobody's retention has passed.
    await eventually(async () => (await redisTime()) > (running.leaseExpiresAt ?? Infinity) + 500);
    worker.finish('later');
    await worker.emitted('done', 'later');
    expect((await app.inspector.snapshot()).lifetime).toMatchObject({ done: 2, lost_leases: 0 });
    expect(await app.inspector.get('early')).toMatchObject({ status: 'done', attempt: 1 });
    expect(await app.inspector.get('later')).toMatchObject({ status: 'done', attempt: 1 });

    const minutes = (await redis.keys(`${app.prefix}:*:stats:*`)).map((key) => Number(key.split(':').at(-1)));
    const thisMinute = (await redisTime()) / 60_000;
    for (const minute of minutes) expect(Math.abs(minute - thisMinute)).toBeLessThan(3);
    expect(minutes.length).toBeGreaterThan(0);
  });
});
