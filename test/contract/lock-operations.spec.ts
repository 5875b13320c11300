/**
 * Two owners, one lock, every operation against every other. The memory store is the model: what two operations at
 * the same moment do must be what one of their orders does.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { MemoryLockStore } from '#lib/store/memory/memory-lock-store.js';
import { MemoryLocks } from '#lib/store/memory/memory-locks.js';
import { RedisLockStore } from '#lib/store/redis/redis-lock-store.js';
import { openRedisLocks, type RedisLocks } from '../support/lock-stores.js';
import { Ears } from './lock-contract-store.js';
import { comparable, OPERATIONS, World, type Step } from './lock-world.js';

const OWNERS = ['a', 'b'] as const;
const STEPS: readonly Step[] = OWNERS.flatMap((owner) =>
  OPERATIONS.map((operation) => ({ owner, operation })),
);

/** How the lock may stand when the two operations come. */
const STATES: Readonly<Record<string, readonly Step[]>> = {
  free: [],
  'held by a': [{ owner: 'a', operation: 'try' }],
  'held by a, b waits': [
    { owner: 'a', operation: 'try' },
    { owner: 'b', operation: 'queue' },
  ],
  'held by c, both wait': [
    { owner: 'c', operation: 'try' },
    { owner: 'a', operation: 'queue' },
    { owner: 'b', operation: 'queue' },
  ],
  'lost by a, held by b': [
    { owner: 'a', operation: 'try' },
    { owner: 'a', operation: 'expire' },
    { owner: 'b', operation: 'try' },
  ],
  'held by a for the second time': [
    { owner: 'a', operation: 'try' },
    { owner: 'a', operation: 'release' },
    { owner: 'a', operation: 'try' },
  ],
};

let locks: RedisLocks;
let otherLocks: RedisLocks;
let other: RedisLockStore;
let runs = 0;

beforeAll(async () => {
  locks = await openRedisLocks();
  // A second connection, so that Redis is really asked twice at once.
  otherLocks = await openRedisLocks();
  other = new RedisLockStore(otherLocks.connection, locks.prefix);
  await Promise.all([locks.store.subscribe(new Ears()), other.subscribe(new Ears())]);
});
afterAll(async () => {
  await other.close();
  await Promise.all([locks.close(), otherLocks.close()]);
});

function memoryWorld(): World {
  // It stands still: what an operation does must not depend on how long it took.
  const shared = new MemoryLocks(() => 1_000_000_000_000);
  const store = new MemoryLockStore(shared);
  void store.subscribe(new Ears());
  const expire = async (): Promise<void> => {
    const lock = shared.find('model');
    if (lock) lock.holder = undefined;
  };
  return new World({ storeOf: () => store, name: 'model', expire });
}

function redisWorld(): World {
  const name = `lock-${runs++}`;
  const expire = async (): Promise<void> =>
    void (await locks.redis.del(`${locks.prefix}:lock:{${name}}:holder`));
  return new World({ storeOf: (owner) => (owner === 'b' ? other : locks.store), name, expire });
}

/** Only the two answers and the end count: what is seen in between depends on the order. */
async function pair(world: World, before: readonly Step[], run: (world: World) => Promise<Seen[]>) {
  for (const step of before) await world.run(step);
  return comparable([...(await run(world)), ...(await world.look())]);
}
type Seen = Awaited<ReturnType<World['run']>>;

describe('operations of two owners on one lock', () => {
  it.each(Object.entries(STATES))(
    'two at the same moment act as one after the other: %s',
    async (_name, before) => {
      for (const first of STEPS) {
        for (const second of STEPS) {
          const forth = await pair(memoryWorld(), before, async (world) => {
            const one = await world.run(first);
            return [one, await world.run(second)];
          });
          const back = await pair(memoryWorld(), before, async (world) => {
            const two = await world.run(second);
            return [await world.run(first), two];
          });
          const seen = await pair(redisWorld(), before, (world) =>
            Promise.all([world.run(first), world.run(second)]),
          );
          // One of the two orders, word for word.
          const order = JSON.stringify(seen) === JSON.stringify(back) ? back : forth;
          expect({ first, second, seen }).toEqual({ first, second, seen: order });
        }
      }
    },
  );

  it('the token of the holder only rises, whatever happens', async () => {
    const steps = fc.array(fc.constantFrom(...STEPS), { minLength: 5, maxLength: 25 });
    await fc.assert(
      fc.asyncProperty(steps, fc.constantFrom(memoryWorld, redisWorld), async (sequence, makeWorld) => {
        const world = makeWorld();
        let last: { what: string; token: number } | undefined;
        for (const step of sequence) {
          await world.run(step);
          const [holder] = await world.look();
          if (holder?.token === undefined) continue;
          const isNext = holder.what !== last?.what || holder.token !== last.token;
          expect(holder.token).toBeGreaterThan(isNext ? (last?.token ?? 0) : holder.token - 1);
          last = { what: holder.what, token: holder.token };
        }
      }),
      { numRuns: 100 },
    );
  });
});
