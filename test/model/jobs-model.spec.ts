/**
 * Random commands on jobs with every kind of key, through the memory store, which is the model, and through Redis.
 * After each command both must have answered alike and show the same, to the millisecond; at the end every job can
 * be brought to an end, and when its time is over nothing is left of it.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryJobStore } from '#lib/store/memory/memory-job-store.js';
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
beforeAll(async () => {
  clocked = await ClockedRedis.start();
});
afterAll(() => clocked.close());

it(`both stores do the same (FC_SEED=${SEED})`, async () => {
  const property = fc.asyncProperty(retention, sequences(jobCommand, 60), async (kept, steps) => {
    await clocked.startOver();
    const options = { queue: 'jobs', retention: kept };
    const memory = new MemoryJobStore({ ...options, clock: () => clocked.now() });
    const redis = new RedisJobStore(clocked.connection, { ...options, prefix: 'model' });
    // The clock is one: it passes once for both.
    const model = new QueueWorld(memory, async () => {});
    const system = new QueueWorld(redis, (ms) => clocked.pass(ms));

    await fc.asyncModelRun(() => ({ model, real: system }), steps);

    const nothing = { scheduled: 0, queued: 0, blocked: 0, processing: 0, retrying: 0 };
    expect(await model.finish()).toEqual(nothing);
    expect(await system.finish()).toEqual(nothing);
    await system.forget(LONG_TIME_MS, WORKERS);
    expect((await clocked.keys()).filter((key) => !OF_THE_QUEUE.has(key))).toEqual([]);
  });
  await fc.assert(property, runParameters(RUNS));
}, 900_000);
