/** A Redis that forgets what it held: nobody shall have to find out by the absence of jobs. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { JobEvents, QueueHealthIndicator } from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { QUICK_QUEUE, startApp, type TestApp } from '../support/nest-app.js';
import { OwnRedis } from '../support/own-redis.js';
import { RecordingHandlers } from '../support/recording-handlers.js';

describe('a Redis that loses its data', () => {
  let redis: OwnRedis;
  const apps: TestApp[] = [];

  beforeEach(async () => {
    redis = await OwnRedis.start();
  });
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
    await redis.close();
  });

  async function start(worker: boolean): Promise<{ app: TestApp; told: string[] }> {
    const app = await startApp({
      providers: [RecordingHandlers],
      options: {
        connection: { url: redis.url },
        prefix: 'forgetful',
        queues: [QUICK_QUEUE],
        maintenance: { reapIntervalMs: 1_000 },
        worker,
      },
    });
    apps.push(app);
    const told: string[] = [];
    app.context
      .get(JobEvents)
      .on('store_lost_data', ({ queue, lost }) => void told.push(`${queue}: ${lost}`));
    return { app, told };
  }

  async function health({ context }: TestApp): Promise<{ status: string; message?: unknown }> {
    return (await context.get(QueueHealthIndicator).isHealthy('queue')).queue;
  }

  it('FLUSHALL: a worker tells it at its next reap, health is degraded, and new jobs run', async () => {
    const { app, told } = await start(true);
    await app.queue.enqueue('note', {}, { jobId: 'before' });
    await eventually(async () => (await app.inspector.get('before')).status === 'done');
    // By now it has seen the queue at least once.
    await eventually(async () => (await health(app)).status === 'up');
    await redis.command('FLUSHALL');
    await eventually(() => told.length > 0);
    expect(await health(app)).toMatchObject({
      status: 'degraded',
      message: expect.stringContaining('lost everything it held of queue "jobs"'),
    });
    await app.queue.enqueue('note', {}, { jobId: 'after' });
    await eventually(async () => (await app.inspector.get('after')).status === 'done');
    expect(told).toEqual(['jobs: all']);
  });

  it('FLUSHALL: a process that only enqueues hears of it from its health check', async () => {
    await start(true);
    const { app, told } = await start(false);
    await eventually(async () =>
      Number(await redis.command('HEXISTS', 'forgetful:{jobs}:meta', 'created_at')),
    );
    expect((await health(app)).status).toBe('up');
    await redis.command('FLUSHALL');
    expect((await health(app)).status).toBe('degraded');
    expect(told).toEqual(['jobs: all']);
  });

  it('an older copy: what the counters show less is told', async () => {
    const { app, told } = await start(false);
    for (const jobId of ['kept', 'lost']) await app.queue.enqueue('note', {}, { jobId });
    expect((await health(app)).status).toBe('up');
    await redis.command('HINCRBY', 'forgetful:{jobs}:stats', 'enqueued', -1);
    expect(await health(app)).toMatchObject({
      status: 'degraded',
      message: expect.stringContaining('lost the latest of what it held'),
    });
    expect(told).toEqual(['jobs: latest']);
  });
});
