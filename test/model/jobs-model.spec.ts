/**
 * Random commands on jobs with every kind of key, through the memory store, which is the model, and through Redis.
 * After each command both must have answered alike and show the same, to the millisecond; at the end every job can
 * be brought to an end, and when its time is over nothing is left of it.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryJobStore } from '#lib/store/memory/memory-job-store.js';
import { DEFAULTS } from '#lib/options/defaults.js';
import type { QueueRetention } from '#lib/store/redis/worker-scripts.js';
import { RedisJobStore } from '#lib/store/redis/redis-job-store.js';
import { ClockedRedis } from '../support/clocked-redis.js';
import { jobCommand, retention } from './job-commands.js';
import { runParameters, SEED, sequences } from './model-run.js';
import { QueueWorld } from './queue-world.js';

const RUNS = 1_000;
const WORKERS = 3;
/** What stays of a queue without jobs. */
const OF_THE_QUEUE = new Set(['fence', 'meta', 'stats', 'wake'].map((name) => `model:{jobs}:${name}`));
/** Longer than anything is kept. */
const LONG_TIME_MS = 3 * 86_400_000;

let clocked: ClockedRedis;
const openRedisStore = (kept: QueueRetention): RedisJobStore =>
  new RedisJobStore(clocked.connection, { queue: 'jobs', prefix: 'model', retention: kept });

beforeAll(async () => {
  clocked = await ClockedRedis.start();
  // The first time a server hears of a script it asks for its text, and the two parts of a call change places.
  const nobody = { jobId: 'nobody', token: 1, outcome: { kind: 'done' } } as const;
  const call = { workerId: 'first', lane: 0, number: 1, settlements: [nobody], claimMax: 1, leaseMs: 1 };
  await clocked.startOver();
  await openRedisStore(DEFAULTS.queue.retention).exchange(call);
});
afterAll(() => clocked.close());

it(`both stores do the same (FC_SEED=${SEED})`, async () => {
  const property = fc.asyncProperty(retention, sequences(jobCommand, 60), async (kept, steps) => {
    await clocked.startOver();
    const memory = new MemoryJobStore({ queue: 'jobs', retention: kept, clock: () => clocked.now() });
    const redis = openRedisStore(kept);
    const listener = memory.listenForWork();
    let heard = false;
    const model = new QueueWorld(memory, {
      // The clock is one: it passes once for both.
      pass: async () => {},
      // A wake-up too many costs one claim, one too few leaves work lying.
      wasWokenIfNeeded: async () => (await listener.wait(1)) === 'timeout' || heard,
    });
    const system = new QueueWorld(redis, {
      pass: (ms) => clocked.pass(ms),
      wasWokenIfNeeded: async () => {
        heard = (await clocked.redis.lpop('model:{jobs}:wake')) !== null;
        return true;
      },
    });

    await fc.asyncModelRun(() => ({ model, real: system }), steps);

    const nothing = { scheduled: 0, queued: 0, blocked: 0, processing: 0, retrying: 0 };
    expect(await model.finish()).toEqual(nothing);
    expect(await system.finish()).toEqual(nothing);
    await system.forget(LONG_TIME_MS, WORKERS);
    expect((await clocked.keys()).filter((key) => !OF_THE_QUEUE.has(key))).toEqual([]);
  });
  await fc.assert(property, runParameters(RUNS));
}, 900_000);
