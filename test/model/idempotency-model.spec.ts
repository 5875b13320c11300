/**
 * Random commands of many owners on two idempotency keys, through the memory store, which is the model, and through
 * Redis. After each command both must have answered alike and show the same, to the millisecond; in the end nothing
 * is left.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryIdempotencyStore } from '#lib/store/memory/memory-idempotency-store.js';
import { RedisIdempotencyStore } from '#lib/store/redis/redis-idempotency-store.js';
import { ClockedRedis } from '../support/clocked-redis.js';
import { idempotencyCommand } from './idempotency-commands.js';
import { IdempotencyWorld } from './idempotency-world.js';
import { runParameters, SEED, sequences } from './model-run.js';

const RUNS = 500;
/** Longer than anything is kept. */
const LONG_TIME_MS = 3 * 86_400_000;

let clocked: ClockedRedis;
beforeAll(async () => {
  clocked = await ClockedRedis.start();
});
afterAll(() => clocked.close());

it(`both stores do the same (FC_SEED=${SEED})`, async () => {
  const redis = new RedisIdempotencyStore(clocked.connection, 'model');
  const property = fc.asyncProperty(sequences(idempotencyCommand, 50), async (steps) => {
    await clocked.startOver();
    const memory = new MemoryIdempotencyStore({ clock: () => clocked.now() });
    // The clock is one: it passes once for both.
    const model = new IdempotencyWorld(memory, async () => {});
    const system = new IdempotencyWorld(redis, (ms) => clocked.pass(ms));
    await fc.asyncModelRun(() => ({ model, real: system }), steps);

    await clocked.pass(LONG_TIME_MS);
    expect(await clocked.keys()).toEqual([]);
  });
  await fc.assert(property, runParameters(RUNS));
}, 900_000);
