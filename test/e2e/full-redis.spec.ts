/** A Redis that is out of memory: no new jobs, but everything that was accepted can still end. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EnqueueRefusedError, StoreUnavailableError } from '@fenceline/nestjs';
import { QueueRegistry } from '#lib/queue/queue-registry.js';
import { eventually } from '../support/eventually.js';
import { QUICK_QUEUE, startApp, type TestApp } from '../support/nest-app.js';
import { OwnRedis } from '../support/own-redis.js';
import { RecordingHandlers } from '../support/recording-handlers.js';

jest.setTimeout(30_000);

const LEASE_MS = 1_200;

describe('a Redis that is full', () => {
  let redis: OwnRedis;
  let app: TestApp;
  let handlers: RecordingHandlers;

  beforeEach(async () => {
    redis = await OwnRedis.start();
    app = await startApp({
      providers: [RecordingHandlers],
      options: {
        connection: { url: redis.url },
        queues: [{ ...QUICK_QUEUE, leaseMs: LEASE_MS, concurrency: 1 }],
        maintenance: { reapIntervalMs: 1_000 },
      },
    });
    handlers = app.context.get(RecordingHandlers);
  });
  afterEach(async () => {
    await app.close();
    await redis.close();
  });

  const key = (name: string): string => `${app.prefix}:{jobs}:${name}`;
  const fill = (): Promise<unknown> =>
    redis.command('CONFIG', 'SET', 'maxmemory', '1', 'maxmemory-policy', 'noeviction');

  it('refuses to enqueue up front, and half of nothing is stored', async () => {
    await fill();
    const before = await redis.command('KEYS', '*');
    const options = { jobId: 'refused', priority: 2, delayMs: 5 };
    await expect(app.queue.enqueue('note', {}, options)).rejects.toThrow(EnqueueRefusedError);
    await expect(app.queue.enqueue('note', {})).rejects.toThrow(/OOM/);
    const many = await app.queue.enqueueMany([{ job: 'note', payload: {} }]);
    expect(many).toEqual([expect.objectContaining({ ok: false, error: expect.any(EnqueueRefusedError) })]);
    expect(new Set((await redis.command('KEYS', '*')) as string[])).toEqual(new Set(before as string[]));

    await redis.command('CONFIG', 'SET', 'maxmemory', '0');
    await app.queue.enqueue('note', {}, options);
    await eventually(() => handlers.runsOf('refused').length === 1);
  });

  it('still renews, settles, reaps and claims', async () => {
    const queued = async (jobId: string, type = 'note'): Promise<void> => {
      await app.queue.enqueue(type, {}, { jobId });
    };
    await queued('running', 'hold');
    await eventually(() => handlers.runsOf('running').length === 1);
    await queued('orphan');
    const { store } = app.context.get(QueueRegistry, { strict: false }).defaultQueue;
    // A worker that claims and is never heard of again.
    const ghost = { workerId: 'ghost', lane: 0, number: 1, settlements: [], claimMax: 1, leaseMs: 100 };
    expect((await store.exchange(ghost)).claimed).toHaveLength(1);
    await queued('waiting');
    await fill();

    const [run] = handlers.runsOf('running');
    await expect(run?.job.checkpoint.set('a step')).rejects.toThrow(StoreUnavailableError);
    const heartbeat = async (): Promise<number> =>
      Number(await redis.command('HGET', key('run:running'), 'heartbeat_at'));
    const first = await heartbeat();
    await eventually(async () => (await heartbeat()) > first + LEASE_MS);
    await eventually(async () => (await app.inspector.snapshot()).lifetime.lost_leases === 1);

    handlers.finish('running');
    await eventually(async () => (await app.inspector.snapshot()).counts.done === 3);
    expect(handlers.runs.map(({ jobId, attempt }) => [jobId, attempt])).toEqual([
      ['running', 1],
      ['orphan', 2],
      ['waiting', 1],
    ]);
    expect(run?.signal.aborted).toBe(false);
    expect((await app.inspector.snapshot()).lifetime).toMatchObject({ lost_leases: 1, stale_refused: 0 });
  });
});
