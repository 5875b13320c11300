/** Redis away, frozen, or cutting off its clients: what producers hear, and that workers come back by themselves. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EnqueueRefusedError, EnqueueUnknownError, JobEvents, LockService } from '@fenceline/nestjs';
import { Redis } from 'ioredis';
import { INTERNAL } from '#lib/options/defaults.js';
import { eventually } from '../support/eventually.js';
import { QUICK_QUEUE, startApp, type TestApp } from '../support/nest-app.js';
import { OwnRedis } from '../support/own-redis.js';
import { RecordingHandlers } from '../support/recording-handlers.js';

jest.setTimeout(40_000);

const COMMAND_TIMEOUT_MS = 500;
const SLACK_MS = 500;
/** "Within seconds": the longest backoff of a reconnect and of a repeated call together, and some. */
const RECOVERY_MS = 10_000;
/** A block timeout and the time after which an unanswered one is given up, so short that an outage can exceed three. */
const BLOCK_MS = 300;

describe('a Redis that fails', () => {
  let redis: OwnRedis;
  let app: TestApp | undefined;

  beforeEach(async () => {
    jest.replaceProperty(INTERNAL, 'idlePollMs', BLOCK_MS);
    jest.replaceProperty(INTERNAL, 'blockGraceMs', BLOCK_MS);
    jest.replaceProperty(INTERNAL, 'storeRetry', { ...INTERNAL.storeRetry, maxDelayMs: 1_000 });
    redis = await OwnRedis.start();
  });
  afterEach(async () => {
    await app?.close();
    app = undefined;
    await redis.close();
    jest.restoreAllMocks();
  });

  async function start(): Promise<{ app: TestApp; handlers: RecordingHandlers }> {
    app = await startApp({
      providers: [RecordingHandlers],
      options: {
        connection: { url: redis.url },
        commandTimeoutMs: COMMAND_TIMEOUT_MS,
        // Longer than any outage here: what a lost lease means is for other tests.
        queues: [{ ...QUICK_QUEUE, leaseMs: 20_000 }],
        shutdownTimeoutMs: 1_000,
      },
    });
    return { app, handlers: app.context.get(RecordingHandlers) };
  }

  /** A new job is enqueued, by repeating it with its id until that is answered, and runs once. */
  async function expectToWork(jobId: string): Promise<void> {
    if (!app) throw new Error('there is no app');
    const { queue } = app;
    const handlers = app.context.get(RecordingHandlers);
    await eventually(() => queue.enqueue('note', {}, { jobId }), { timeoutMs: RECOVERY_MS, what: 'enqueue' });
    await eventually(() => handlers.runsOf(jobId).length > 0, { timeoutMs: RECOVERY_MS, what: jobId });
    expect(handlers.runsOf(jobId)).toHaveLength(1);
  }

  async function timed(promise: Promise<unknown>): Promise<{ error: unknown; ms: number }> {
    const startedAt = performance.now();
    const error = await promise.then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    return { error, ms: performance.now() - startedAt };
  }

  // taskforcesh/bullmq#995
  it('down at boot: the app boots, enqueue is refused in time, and nothing of it turns up later', async () => {
    await redis.stop();
    const { queue, inspector } = (await start()).app;
    const refused = Array.from({ length: 20 }, (_, i) => `phantom-${i}`).map((jobId) =>
      timed(queue.enqueue('note', {}, { jobId })),
    );
    // Calls that no batch joins: all of them wait for the connection.
    const unanswered = Array.from({ length: 20 }, () => timed(inspector.snapshot()));
    for (const { error, ms } of await Promise.all([...refused, ...unanswered])) {
      expect(error).toMatchObject({ code: expect.stringMatching(/^(ENQUEUE_REFUSED|STORE_UNAVAILABLE)$/) });
      expect(ms).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    }
    for (const { error } of await Promise.all(refused)) expect(error).toBeInstanceOf(EnqueueRefusedError);
    await redis.restart();
    await expectToWork('real');
    expect((await inspector.snapshot()).lifetime).toMatchObject({ enqueued: 1, duplicates: 0 });
    expect(await redis.command('KEYS', '*phantom*')).toEqual([]);
  });

  // taskforcesh/bullmq#4585
  it('away for longer than three block timeouts: consumes again by itself, and says so once', async () => {
    const { app: running, handlers } = await start();
    const told: string[] = [];
    const events = running.context.get(JobEvents);
    events.on('store_unavailable', () => void told.push('unavailable'));
    events.on('store_recovered', () => void told.push('recovered'));
    await running.queue.enqueue('hold', {}, { jobId: 'held' });
    await eventually(() => handlers.runsOf('held').length === 1);

    await redis.stop();
    const stoppedAt = performance.now();
    const { error, ms } = await timed(running.queue.enqueue('note', {}, { jobId: 'refused' }));
    expect(error).toBeInstanceOf(EnqueueRefusedError);
    expect(ms).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    // Reached while the store is away, and offered until it is back.
    handlers.finish('held');
    await eventually(() => performance.now() - stoppedAt > 4 * 2 * BLOCK_MS);
    await redis.restart();

    await expectToWork('after');
    const held = await eventually(async () => {
      const job = await running.inspector.get('held');
      return job.status === 'done' && job;
    });
    expect(held.attempt).toBe(1);
    expect(told).toEqual(['unavailable', 'recovered']);
    expect(await redis.command('KEYS', '*refused*')).toEqual([]);
  });

  // taskforcesh/bullmq#648
  it.each([
    [
      'unblocks its blocked clients with an error',
      async () => {
        await eventually(async () => {
          const clients = String(await redis.command('CLIENT', 'LIST')).split('\n');
          const blocked = clients.find((line) => line.includes(' cmd=blpop'));
          const id = /\bid=(\d+)/.exec(blocked ?? '')?.[1];
          return id !== undefined && (await redis.command('CLIENT', 'UNBLOCK', id, 'ERROR')) === 1;
        });
      },
    ],
    ['kills its clients', () => redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes')],
    ['forgets its scripts', () => redis.command('SCRIPT', 'FLUSH')],
  ])('%s: goes on with the next job', async (_what, disturb) => {
    const { app: running, handlers } = await start();
    for (let round = 1; round <= 3; round++) {
      // Idle: only the wake-up or the poll can bring the next job.
      await disturb();
      await expectToWork(`idle-${round}`);
      // Busy: the next job comes with the settlement.
      const held = `held-${round}`;
      await running.queue.enqueue('hold', {}, { jobId: held });
      await eventually(() => handlers.runsOf(held).length === 1);
      await disturb();
      handlers.finish(held);
      await expectToWork(`after-${round}`);
    }
    await eventually(async () => (await running.inspector.snapshot()).counts.done === 9);
    expect(handlers.runs).toHaveLength(9);
    expect((await running.inspector.snapshot()).lifetime).toMatchObject({ lost_leases: 0, stale_refused: 0 });
  });

  it('read-only: every call is told so, the connection is left once, and it works again once that is over', async () => {
    const { app: running } = await start();
    await expectToWork('before');
    const disconnect = jest.spyOn(Redis.prototype, 'disconnect');
    // A replica whose primary is out of reach.
    await redis.command('REPLICAOF', '127.0.0.1', 1);
    disconnect.mockClear();
    const answers = await Promise.all(Array.from({ length: 30 }, () => timed(running.admin.pause())));
    // Not once per call: each adds a listener to the socket, until Node warns of a leak.
    expect(disconnect.mock.calls.length).toBeLessThan(10);
    for (const { error } of answers) expect(error).toMatchObject({ code: 'STORE_UNAVAILABLE' });
    await redis.command('REPLICAOF', 'NO', 'ONE');
    await expectToWork('after');
  });

  // ioredis renews subscriptions itself and does not catch what goes wrong: the process then dies of it.
  it('renews a subscription once per connection', async () => {
    const { app: running } = await start();
    const locks = running.context.get(LockService);
    await locks.acquire('door');
    const waiting = locks.acquire('door', { waitMs: 20_000 }).catch(() => {});
    const subscriptions = async (): Promise<number> => {
      const stats = String(await redis.command('INFO', 'commandstats'));
      return Number(/^cmdstat_subscribe:calls=(\d+)/m.exec(stats)?.[1] ?? 0);
    };
    await eventually(async () => (await subscriptions()) === 1);
    await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub');
    await eventually(async () => (await subscriptions()) >= 2);
    // Whoever else subscribes does so in the same turn; this comes after it.
    await expectToWork('later');
    expect(await subscriptions()).toBe(2);
    await running.context.close();
    await waiting;
  });

  it('frozen: enqueue settles in time, not knowing; repeated with its id it is one job', async () => {
    const { app: running, handlers } = await start();
    await expectToWork('before');
    redis.freeze();
    const attempts = await Promise.all([
      timed(running.queue.enqueue('note', {}, { jobId: 'unknown' })),
      timed(running.queue.enqueue('note', {})),
    ]);
    for (const { error, ms } of attempts) {
      expect(error).toBeInstanceOf(EnqueueUnknownError);
      expect(ms).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
    }
    // A generated id is known too, so that the caller can repeat the call.
    const ids = attempts.map(({ error }) => (error instanceof EnqueueUnknownError ? error.jobId : ''));
    expect(ids).toEqual(['unknown', expect.stringMatching(/^\w{22}$/)]);
    redis.thaw();
    for (const id of ids) await expectToWork(id);
    expect((await running.inspector.snapshot()).lifetime.enqueued).toBe(3);
    expect(handlers.runs).toHaveLength(3);
  });

  it('frozen: closing the app stays within the shutdown timeout', async () => {
    const { app: running, handlers } = await start();
    await running.queue.enqueue('hold', {}, { jobId: 'held' });
    await eventually(() => handlers.runsOf('held').length === 1);
    redis.freeze();
    const { error, ms } = await timed(running.context.close());
    expect(error).toBeUndefined();
    expect(ms).toBeLessThan(1_000 + SLACK_MS);
  });
});
