/** The health checks on real queues and a real Redis: right, and in time whatever Redis does. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LeaseHealthIndicator, QueueHealthIndicator, WorkerHealthIndicator } from '@fenceline/nestjs';
import { INTERNAL } from '#lib/options/defaults.js';
import { QueueRegistry } from '#lib/queue/queue-registry.js';
import { eventually } from '../support/eventually.js';
import { Gate } from '../support/gate.js';
import { QUICK_QUEUE, startApp, type TestApp } from '../support/nest-app.js';
import { OwnRedis } from '../support/own-redis.js';
import { RecordingHandlers } from '../support/recording-handlers.js';

jest.setTimeout(20_000);

/** Kubernetes gives up on a probe after this long. */
const ANSWER_WITHIN_MS = 1_000;
/** So short that an idle loop turns often, and a wedged one is noticed soon. */
const IDLE_POLL_MS = 100;
const DOWN_LOOP_AGE_MS = 700;

let app: TestApp;
let redis: OwnRedis | undefined;

beforeEach(() => {
  jest.replaceProperty(INTERNAL, 'idlePollMs', IDLE_POLL_MS);
  jest.replaceProperty(INTERNAL, 'storeRetry', { ...INTERNAL.storeRetry, maxDelayMs: 500 });
});
afterEach(async () => {
  jest.restoreAllMocks();
  redis?.thaw();
  await app.close();
  await redis?.close();
  redis = undefined;
});

async function start(): Promise<void> {
  app = await startApp({
    providers: [RecordingHandlers],
    options: {
      queues: [{ ...QUICK_QUEUE, concurrency: 2, maxAttempts: 1 }],
      ...(redis && { connection: { url: redis.url } }),
      shutdownTimeoutMs: 1_000,
    },
  });
}

/** The answers of all indicators, each of which must come in time. */
async function checkAll(): Promise<Record<'worker' | 'queue' | 'leases', unknown>> {
  const { context } = app;
  const timed = async (answer: Promise<Record<string, { status: string }>>): Promise<unknown> => {
    const startedAt = performance.now();
    const [result] = Object.values(await answer);
    expect(performance.now() - startedAt).toBeLessThan(ANSWER_WITHIN_MS);
    return result?.status;
  };
  const [worker, queue, leases] = await Promise.all([
    timed(context.get(WorkerHealthIndicator).isHealthy('worker', { downLoopAgeMs: DOWN_LOOP_AGE_MS })),
    timed(context.get(QueueHealthIndicator).isHealthy('queue')),
    timed(context.get(LeaseHealthIndicator).isHealthy('leases')),
  ]);
  return { worker, queue, leases };
}

// nestjs/bull#2427, bullmq#95
describe('health', () => {
  beforeEach(() => start());

  it('an idle queue stays up', async () => {
    const { store: jobStore } = app.context.get(QueueRegistry, { strict: false }).defaultQueue;
    const turns = jest.spyOn(jobStore, 'exchange');
    const startedAt = performance.now();
    await eventually(async () => {
      expect(await checkAll()).toEqual({ worker: 'up', queue: 'up', leases: 'up' });
      // Several times the age at which a loop that does not turn is down.
      return performance.now() - startedAt > 2 * DOWN_LOOP_AGE_MS;
    });
    expect(turns.mock.calls.length).toBeGreaterThan(5);
  });

  it('a wedged claim loop is down, until it turns again', async () => {
    const { store: jobStore } = app.context.get(QueueRegistry, { strict: false }).defaultQueue;
    const exchange = jobStore.exchange.bind(jobStore);
    const gate = new Gate();
    jest.spyOn(jobStore, 'exchange').mockImplementation(async (call) => {
      await gate.passed();
      return exchange(call);
    });
    await eventually(async () => {
      const { worker, queue } = await checkAll();
      return worker === 'down' && queue === 'up';
    });
    gate.open();
    await eventually(async () => (await checkAll()).worker === 'up');
  });

  it('a worker whose slots are all busy is up, however long its jobs take', async () => {
    for (const jobId of ['one', 'two']) await app.queue.enqueue('hold', {}, { jobId });
    const { runs } = app.context.get(RecordingHandlers);
    await eventually(() => runs.length === 2);
    const startedAt = performance.now();
    await eventually(async () => {
      expect((await checkAll()).worker).toBe('up');
      return performance.now() - startedAt > 1.5 * DOWN_LOOP_AGE_MS;
    });
    for (const jobId of ['one', 'two']) app.context.get(RecordingHandlers).finish(jobId);
    await eventually(async () => (await app.inspector.snapshot()).counts.done === 2);
  });

  it('a queue that is too deep, too old or has too many dead jobs is degraded, then down', async () => {
    const indicator = app.context.get(QueueHealthIndicator);
    await app.admin.pause();
    for (let i = 0; i < 3; i++) await app.queue.enqueue('note', {});
    const checkDepth = (degradedDepth: number, downDepth: number): Promise<unknown> =>
      indicator.isHealthy('queue', { degradedDepth, downDepth });
    expect(await checkDepth(4, 5)).toMatchObject({ queue: { status: 'up' } });
    expect(await checkDepth(3, 5)).toMatchObject({ queue: { status: 'degraded' } });
    expect(await checkDepth(2, 3)).toMatchObject({
      queue: {
        status: 'down',
        message: expect.stringContaining('paused queue "jobs" has 3 jobs waiting'),
        queues: { jobs: { queued: 3, dead: 0, paused: true } },
      },
    });
    await eventually(async () => {
      const { queue } = await indicator.isHealthy('queue', {
        degradedOldestReadyMs: 30,
        downOldestReadyMs: 60,
      });
      return queue.status === 'down';
    });
    await app.admin.resume();
    await app.queue.enqueue('of nobody', {});
    await eventually(async () => (await app.inspector.snapshot()).counts.done === 3);
    const dead = await indicator.isHealthy('queue', { degradedDead: 0, downDead: 1 });
    expect(dead).toMatchObject({ queue: { status: 'degraded' } });
  });
});

describe('health while Redis does not answer', () => {
  beforeEach(async () => {
    redis = await OwnRedis.start();
    await start();
    await eventually(async () => (await checkAll()).worker === 'up');
  });

  it.each([
    ['frozen', () => redis?.freeze(), () => redis?.thaw()],
    // It ends by itself: during a pause of ALL nobody can send UNPAUSE.
    ['paused', () => redis?.command('CLIENT', 'PAUSE', 2_000, 'ALL'), () => undefined],
    ['gone', () => redis?.stop(), () => redis?.restart()],
  ])('%s: everything is down, in time, and up again afterwards', async (_how, takeAway, giveBack) => {
    await takeAway();
    await eventually(async () => {
      const { worker, queue, leases } = await checkAll();
      return worker === 'down' && queue === 'down' && leases === 'down';
    });
    await giveBack();
    await eventually(
      async () => {
        const answers = Object.values(await checkAll());
        return answers.every((status) => status === 'up');
      },
      { timeoutMs: 15_000 },
    );
  });
});
