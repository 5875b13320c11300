/** Keys that vanish or are spoiled under a running queue: by eviction, a failover, or someone's redis-cli. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Module, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobQueueModule, type Job } from '@fenceline/nestjs';
import type { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { QUICK_QUEUE, startApp, type TestApp } from '../support/nest-app.js';
import { OwnRedis } from '../support/own-redis.js';
import { RecordingHandlers } from '../support/recording-handlers.js';
import { openRedis } from '../support/redis.js';
import { WorkerChildren } from '../support/worker-child.js';

jest.setTimeout(20_000);

const LEASE_MS = 1_000;
const REAP_INTERVAL_MS = 1_000;
const SLACK_MS = 1_000;
const OPTIONS = {
  queues: [{ ...QUICK_QUEUE, leaseMs: LEASE_MS }],
  maintenance: { reapIntervalMs: REAP_INTERVAL_MS },
};

describe('what vanishes or is spoiled', () => {
  let app: TestApp;
  let handlers: RecordingHandlers;
  let redis: Redis;

  beforeEach(async () => {
    redis = openRedis();
    app = await startApp({ providers: [RecordingHandlers], options: OPTIONS });
    handlers = app.context.get(RecordingHandlers);
  });
  afterEach(async () => {
    await app.close();
    redis.disconnect();
  });

  const key = (name: string): string => `${app.prefix}:{jobs}:${name}`;
  const inStatus = (jobId: string, status: string): Promise<Job> =>
    eventually(
      async () => {
        const job = await app.inspector.get(jobId);
        return job.status === status && job;
      },
      { what: `${jobId} ${status}` },
    );
  const lifetime = async (): Promise<object> => (await app.inspector.snapshot()).lifetime;
  async function hold(jobId: string): Promise<void> {
    await app.queue.enqueue('hold', {}, { jobId });
    await eventually(() => handlers.runsOf(jobId).length === 1);
  }
  /** The loop neither crashed nor stopped. */
  async function expectToGoOn(): Promise<void> {
    const { jobId } = await app.queue.enqueue('note', {});
    await inStatus(jobId, 'done');
  }

  it('the lease entry of a live worker: the heartbeat puts it back', async () => {
    await hold('held');
    expect(await redis.zrem(key('processing'), 'held')).toBe(1);
    await eventually(async () => (await redis.zscore(key('processing'), 'held')) !== null);
    handlers.finish('held');
    expect(await inStatus('held', 'done')).toMatchObject({ attempt: 1 });
    expect(await lifetime()).toMatchObject({ lost_leases: 0, stale_refused: 0 });
    expect(handlers.runsOf('held')).toHaveLength(1);
  });

  it('the run of a job being processed: its handler is told, and the job runs again', async () => {
    await hold('forgotten');
    const [first] = handlers.runsOf('forgotten');
    expect(await redis.del(key('run:forgotten'))).toBe(1);
    await eventually(() => first?.signal.aborted);
    expect(first?.signal.reason).toMatchObject({ code: 'LEASE_LOST' });
    const second = await eventually(() => handlers.runsOf('forgotten')[1]);
    expect(second.token).toBeGreaterThan(first?.token ?? Infinity);
    handlers.finish('forgotten');
    expect(await inStatus('forgotten', 'done')).toMatchObject({ fencingToken: second.token });
    await eventually(async () => (await app.inspector.snapshot()).lifetime.stale_refused === 1);
    expect(await lifetime()).toMatchObject({ done: 1, lost_leases: 1 });
    await expectToGoOn();
  });

  it('the spec and the run of a job being processed: nothing of it comes back', async () => {
    await hold('erased');
    await redis.del(key('run:erased'), key('job:erased'));
    await eventually(() => handlers.runsOf('erased')[0]?.signal.aborted);
    handlers.finish('erased');
    await eventually(async () => (await redis.zscore(key('processing'), 'erased')) === null);
    await expectToGoOn();
    expect(handlers.runsOf('erased')).toHaveLength(1);
    expect((await redis.keys(`${app.prefix}:*`)).filter((name) => name.includes('erased'))).toEqual([]);
    expect((await app.inspector.snapshot()).counts).toMatchObject({ queued: 0, processing: 0, done: 1 });
  });

  it('the spec of a queued job that has run before: it is buried, and the loop goes on', async () => {
    await app.admin.pause();
    await app.queue.enqueue('note', {}, { jobId: 'hollow' });
    await redis.hset(key('run:hollow'), 'status', 'queued', 'attempt', '1');
    await redis.del(key('job:hollow'));
    await app.admin.resume();
    expect(await inStatus('hollow', 'dead')).toMatchObject({
      deadReason: 'spec_unreadable',
      lastError: { code: 'SPEC_UNREADABLE', message: expect.stringContaining('it is missing') },
    });
    await expectToGoOn();
  });

  it('the spec of a queued job that never ran: the job is gone, and the loop goes on', async () => {
    await app.admin.pause();
    await app.queue.enqueue('note', {}, { jobId: 'gone' });
    await redis.del(key('job:gone'));
    await app.admin.resume();
    await expectToGoOn();
    expect(handlers.runsOf('gone')).toEqual([]);
    expect((await app.inspector.snapshot()).counts).toMatchObject({ queued: 0, processing: 0 });
    expect(await app.queue.enqueue('note', {}, { jobId: 'gone' })).toMatchObject({ duplicate: false });
    await inStatus('gone', 'done');
  });

  it.each([
    ['is not JSON', 'not json'],
    ['is cut off', '{"created_at":1,"type":"note","payload":{'],
    ['is another JSON value', '[1,2,3]'],
    ['has no type', '{"created_at":1,"payload":{}}'],
    ['has no time', '{"type":"note","payload":{}}'],
    ['is empty', ''],
    ['is binary', Buffer.from([0xff, 0xfe, 0x00, 0x7b])],
  ])('a spec that %s: it is buried, never retried', async (_what, text) => {
    await app.admin.pause();
    await app.queue.enqueue('note', {}, { jobId: 'spoiled' });
    await redis.set(key('job:spoiled'), text);
    await app.admin.resume();
    expect(await inStatus('spoiled', 'dead')).toMatchObject({ deadReason: 'spec_unreadable', attempt: 1 });
    expect(handlers.runsOf('spoiled')).toEqual([]);
    expect(await lifetime()).toMatchObject({ retried: 0, dead: 1 });
    await expectToGoOn();
  });
});

// hibiken/asynq#1144, taskforcesh/bullmq#1443
describe('the lease entry of a worker that died', () => {
  let app: TestApp;
  let heir: TestApp | undefined;
  const children = new WorkerChildren(() => ({ prefix: app.prefix, module: OPTIONS }));

  beforeEach(async () => {
    app = await startApp({ options: { ...OPTIONS, worker: false } });
  });
  afterEach(async () => {
    await children.killAll();
    await heir?.close();
    heir = undefined;
    await app.close();
  });

  it('vanishes: the job is requeued within a reaper period after the silence', async () => {
    const doomed = await children.start();
    await app.queue.enqueue('hold', {}, { jobId: 'orphan' });
    await doomed.started('orphan');
    heir = await startApp({
      providers: [RecordingHandlers],
      options: { ...OPTIONS, prefix: app.prefix },
    });
    doomed.kill('SIGKILL');
    await doomed.exited;
    const killedAt = performance.now();
    const redis = openRedis();
    const removed = await redis.zrem(`${app.prefix}:{jobs}:processing`, 'orphan');
    redis.disconnect();
    expect(removed).toBe(1);

    const handlers = heir.context.get(RecordingHandlers);
    const run = await eventually(() => handlers.runsOf('orphan')[0]);
    handlers.finish('orphan');
    expect(run).toMatchObject({ attempt: 2 });
    expect(performance.now() - killedAt).toBeLessThan(LEASE_MS + REAP_INTERVAL_MS + SLACK_MS);
    expect((await app.inspector.snapshot()).lifetime).toMatchObject({ lost_leases: 1 });
  });
});

describe('a Redis that may evict', () => {
  it.each([
    [
      'allkeys-lru',
      [expect.stringMatching(/maxmemory-policy "allkeys-lru".*CONFIG SET maxmemory-policy noeviction/)],
    ],
    ['noeviction', []],
  ])('maxmemory-policy %s: boot warnings %j', async (policy, expected) => {
    const server = await OwnRedis.start(['--maxmemory-policy', policy]);
    const warnings: unknown[] = [];
    const ignore = (): void => {};
    const logger: LoggerService = {
      log: ignore,
      error: ignore,
      warn: (message: unknown) => void warnings.push(message),
    };
    @Module({ imports: [JobQueueModule.forRoot({ connection: { url: server.url }, logging: false })] })
    class TestModule {}
    const context = await NestFactory.createApplicationContext(TestModule, { logger, abortOnError: false });
    await context.close();
    await server.close();
    expect(warnings).toEqual(expected);
  });
});
