/** A queue with partitions, as an app has it: its jobs are found, in order per key, and its number stays what it was. */
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  JobHandler,
  PartitionConflictError,
  type JobContext,
  type JobQueueModuleOptions,
} from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { startApp, STORES, type TestApp } from '../support/nest-app.js';
import { OwnRedis } from '../support/own-redis.js';
import { openRedisStore } from '../support/redis-store.js';
import { deletePrefix, keysOf, newPrefix, openRedis, redisUrl } from '../support/redis.js';

const QUEUE = { name: 'jobs', partitions: 8, leaseMs: 2_000, backoff: { baseDelayMs: 10, maxDelayMs: 40 } };

@Injectable()
class Handlers {
  readonly ran: { id: string; user: string | undefined; n: number }[] = [];

  @JobHandler('note')
  note({ user, n }: { user?: string; n: number }, { id }: JobContext): void {
    this.ran.push({ id, user, n });
  }

  @JobHandler('fail')
  fail(): void {
    throw new Error('it failed');
  }
}

const apps: TestApp[] = [];
async function open(options: JobQueueModuleOptions, store: 'memory' | 'redis' = 'redis'): Promise<TestApp> {
  const app = await startApp({ store, options, providers: [Handlers] });
  apps.push(app);
  return app;
}
afterEach(async () => {
  for (const app of apps.splice(0)) await app.close();
});

describe.each(STORES)('a queue with 8 partitions on %s', (store) => {
  it('runs all jobs, those of one resource in order, and finds each by its id', async () => {
    const app = await open({ queues: [QUEUE] }, store);
    const handlers = app.context.get(Handlers);
    const jobs = Array.from({ length: 400 }, (_, n) => ({
      job: 'note',
      payload: { n, ...(n % 2 ? { user: `user:${n % 7}` } : {}) },
      options: n % 2 ? { resourceKey: `user:${n % 7}` } : {},
    }));
    const results = await app.queue.enqueueMany(jobs);
    expect(results.every(({ ok }) => ok)).toBe(true);
    await eventually(() => handlers.ran.length === jobs.length, { timeoutMs: 20_000 });
    for (let user = 0; user < 7; user++) {
      const order = handlers.ran.filter((ran) => ran.user === `user:${user}`).map(({ n }) => n);
      expect(order).toEqual(order.toSorted((a, b) => a - b));
    }
    const partitions = new Set(results.map(({ jobId }) => jobId.split('-').at(-1)));
    expect(partitions.size).toBe(8);
    await eventually(async () => (await app.inspector.snapshot()).counts.done === jobs.length);
    for (const { jobId } of results.slice(0, 10))
      expect((await app.inspector.get(jobId)).status).toBe('done');
    const { jobs: page } = await app.inspector.list({ status: 'done', limit: 100 });
    expect(page).toHaveLength(100);
  });

  it('refuses a job whose keys belong apart, and takes it with a partitionKey', async () => {
    const app = await open({ queues: [QUEUE] }, store);
    const keys = { resourceKey: 'user:1', idempotencyKey: 'op:3', dedup: { key: 'd:4' } };
    await expect(app.queue.enqueue('note', { n: 1 }, keys)).rejects.toBeInstanceOf(PartitionConflictError);
    await expect(app.queue.enqueueMany([{ job: 'note', payload: {}, options: keys }])).rejects.toThrow(
      'jobs[0]',
    );
    const options = { ...keys, partitionKey: 'user:1', jobId: 'mine' };
    expect(await app.queue.enqueue('note', { n: 1 }, options)).toMatchObject({ jobId: 'mine' });
    expect(await app.queue.enqueue('note', { n: 1 }, options)).toMatchObject({ duplicate: true });
    await eventually(async () => (await app.inspector.get('mine')).status === 'done');
  });

  it('redrives the dead of all partitions', async () => {
    const app = await open({ queues: [{ ...QUEUE, maxAttempts: 1 }] }, store);
    for (let i = 0; i < 20; i++) await app.queue.enqueue('fail', {});
    await eventually(async () => (await app.inspector.snapshot()).counts.dead === 20);
    await app.admin.pause();
    expect(await app.admin.redriveAll()).toBe(20);
    expect((await app.inspector.snapshot()).counts).toMatchObject({ dead: 0, queued: 20 });
  });
});

describe('the number of partitions', () => {
  const redis = openRedis();
  const prefix = newPrefix();
  afterEach(() => deletePrefix(redis, prefix));
  afterAll(() => redis.disconnect());

  const boot = (partitions: number, url = redisUrl()): Promise<TestApp> =>
    open({ connection: { url }, prefix, worker: false, queues: [{ ...QUEUE, partitions }] });

  it('leaves the keys of a queue that has one as they were', async () => {
    const app = await boot(1);
    const { jobId } = await app.queue.enqueue('note', { n: 1 }, { partitionKey: 'no matter' });
    expect(jobId).toHaveLength(22);
    expect((await keysOf(redis, prefix)).every((key) => key.startsWith(`${prefix}:{jobs}:`))).toBe(true);
    expect(await redis.hget(`${prefix}:{jobs}:meta`, 'partitions')).toBeNull();
  });

  it.each([
    [8, 4],
    [8, 1],
    [1, 8],
  ])('cannot be changed from %i to %i while a job is left, and can when none is', async (from, to) => {
    const before = await boot(from);
    const { jobId } = await before.queue.enqueue('note', { n: 1 });
    const message = new RegExp(
      `has 1 jobs in ${from} partition.*partitions: ${to}.*partitions: ${from}`,
      's',
    );
    await expect(boot(to)).rejects.toThrow(message);
    await expect(boot(from)).resolves.toBeDefined();
    await before.admin.remove(jobId);
    const after = await boot(to);
    await after.queue.enqueue('note', { n: 2 });
    expect(await redis.hget(`${prefix}:{jobs}:meta`, 'partitions')).toBe(to === 1 ? null : String(to));
    await expect(boot(from)).rejects.toThrow('partitions');
  });

  it('is also checked when Redis comes up after the app', async () => {
    const server = await OwnRedis.start();
    try {
      const first = await boot(8, server.url);
      await first.queue.enqueue('note', { n: 1 });
      await server.stop();
      const late = await open({
        ...{ connection: { url: server.url }, prefix, worker: false, commandTimeoutMs: 500 },
        queues: [{ ...QUEUE, partitions: 4 }],
      });
      await expect(late.queue.enqueue('note', { n: 2 })).rejects.toMatchObject({ code: 'ENQUEUE_REFUSED' });
      await server.restart();
      await eventually(async () => {
        const error: unknown = await late.queue.enqueue('note', { n: 3 }).catch((caught: unknown) => caught);
        return String(error).includes('has 1 jobs in 8 partition');
      });
    } finally {
      await server.close();
    }
  });

  it('is told to a worker that was started with another one', async () => {
    const { store, key, redis: client, close } = await openRedisStore();
    const heartbeat = () => store.renew({ workerId: 'w', host: 'test', pid: 1, slots: 1 }, [], 30_000);
    await heartbeat();
    await client.hset(key('meta'), 'partitions', '8');
    await expect(heartbeat()).rejects.toThrow('spread over 8 partitions');
    await close();
  });
});
