/**
 * Random commands of three processes on two locks, through the memory store, which is the model, and through Redis.
 * After each command both must have answered alike and show the same, to the millisecond; at the end the same
 * waiters have heard of their locks.
 */
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryLockStore } from '#lib/store/memory/memory-lock-store.js';
import { MemoryLocks } from '#lib/store/memory/memory-locks.js';
import { RedisLockStore } from '#lib/store/redis/redis-lock-store.js';
import { Ears } from '../contract/lock-contract-store.js';
import { ClockedRedis } from '../support/clocked-redis.js';
import { lockCommand } from './lock-commands.js';
import { LockWorld } from './lock-world.js';
import { runParameters, SEED, sequences } from './model-run.js';

const RUNS = 600;
/** Longer than the last token of a lock is remembered. */
const LONG_TIME_MS = 2 * 3_600_000;
const MARK = 'everything before this was heard';

/** Two processes that hear of grants and one that does not: its waiters must ask again. */
interface Processes {
  readonly stores: readonly [RedisLockStore, RedisLockStore, RedisLockStore];
  ears: readonly [Ears, Ears];
}

let clocked: ClockedRedis;
let processes: Processes;
let channels: readonly string[];

beforeAll(async () => {
  clocked = await ClockedRedis.start();
  const open = (): RedisLockStore => new RedisLockStore(clocked.connection, 'model');
  processes = { stores: [open(), open(), open()], ears: [new Ears(), new Ears()] };
  for (const [i, store] of processes.stores.slice(0, 2).entries()) {
    await store.subscribe({ granted: (owner) => processes.ears[i]?.granted(owner), resumed: () => {} });
  }
  channels = (await clocked.redis.pubsub('CHANNELS', '*')).map(String);
});
afterAll(async () => {
  for (const store of processes.stores) await store.close();
  await clocked.close();
});

/** Messages come in their order, so those before the mark have come. */
async function everythingHeard(): Promise<readonly (readonly string[])[]> {
  for (const channel of channels) await clocked.redis.publish(channel, MARK);
  return Promise.all(
    processes.ears.map(async (ears) => {
      await ears.hears(MARK);
      return ears.heard.filter((owner) => owner !== MARK);
    }),
  );
}

it(`both stores do the same (FC_SEED=${SEED})`, async () => {
  const property = fc.asyncProperty(sequences(lockCommand, 50), async (steps) => {
    await clocked.startOver();
    processes.ears = [new Ears(), new Ears()];
    const shared = new MemoryLocks(() => clocked.now());
    const stores = [0, 1, 2].map(() => new MemoryLockStore(shared));
    const [first, second, deaf] = stores;
    if (!first || !second || !deaf) throw new Error('there are three processes');
    const heard = [new Ears(), new Ears()];
    for (const [i, ears] of heard.entries()) await stores[i]?.subscribe(ears);

    // The clock is one: it passes once for both.
    const model = new LockWorld([first, second, deaf], async () => {});
    const system = new LockWorld(processes.stores, (ms) => clocked.pass(ms));
    await fc.asyncModelRun(() => ({ model, real: system }), steps);

    expect(await everythingHeard()).toEqual(heard.map((ears) => ears.heard));
    await clocked.pass(LONG_TIME_MS);
    expect((await clocked.keys()).filter((key) => !key.startsWith('model:fenced:'))).toEqual([]);
  });
  await fc.assert(property, runParameters(RUNS));
}, 900_000);
