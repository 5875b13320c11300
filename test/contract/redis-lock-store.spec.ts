/** The Redis lock store keeps the contract, on a real Redis, and what only it can be held to. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { INTERNAL } from '#lib/options/defaults.js';
import { openRedisLocks, type RedisLocks } from '../support/lock-stores.js';
import { keysOf } from '../support/redis.js';
import { Ears } from './lock-contract-store.js';
import { describeRedisLockStore, onEveryServer } from './redis-contracts.js';

onEveryServer(describeRedisLockStore);

describe('RedisLockStore', () => {
  let locks: RedisLocks;
  beforeEach(async () => {
    locks = await openRedisLocks();
  });
  afterEach(() => locks.close());

  const acquire = (owner: string, waitMs = 0, name = 'a{b}') =>
    locks.store.acquire({ name, owner, ttlMs: 60_000, waitMs });
  const key = (part: string) => `${locks.prefix}:lock:{a%7Bb%7D}:${part}`;

  it('keeps all keys of a lock in one slot, readable, and none of them for ever', async () => {
    await acquire('a');
    await acquire('b', 60_000);
    const keys = (await keysOf(locks.redis, locks.prefix)).toSorted();
    expect(keys).toEqual(['fence', 'holder', 'waiters', 'waiting'].map(key));
    for (const name of keys) expect(await locks.redis.pttl(name)).toBeGreaterThan(0);
    expect(await locks.redis.pttl(key('fence'))).toBeGreaterThan(INTERNAL.lockFenceKeepMs - 10_000);
    const fence = await locks.redis.get(key('fence'));
    expect(fence).toMatch(/^\d{16}$/);
    expect(await locks.redis.hgetall(key('holder'))).toEqual({
      owner: 'a',
      fencing_token: fence,
      acquired_at: expect.stringMatching(/^\d{13}$/),
    });
  });

  it('leaves nothing of a lock but its last token', async () => {
    await acquire('a');
    await acquire('b', 60_000);
    await locks.store.abandon('a{b}', 'b');
    await locks.store.abandon('a{b}', 'a');
    expect(await keysOf(locks.redis, locks.prefix)).toEqual([key('fence')]);
  });

  it('mints a higher token even if the clock went back behind the last one', async () => {
    const future = '3000000000000000';
    await locks.redis.set(key('fence'), future);
    expect(await acquire('a')).toEqual({ granted: true, token: Number(future) + 1 });
  });

  it('keeps the order of arrival even if the clock went back', async () => {
    await locks.store.subscribe(new Ears());
    await acquire('holder');
    await acquire('first', 60_000);
    await locks.redis.zadd(key('waiters'), 3_000_000_000_000_000, 'first');
    await acquire('second', 60_000);
    expect((await locks.store.inspect('a{b}')).waiters).toEqual(['first', 'second']);
  });

  it('works after SCRIPT FLUSH, also in the middle of a batch of renewals', async () => {
    const leases = [];
    for (const name of ['one', 'two', 'three']) {
      const reply = await acquire(name, 0, name);
      if (reply.granted) leases.push({ name, owner: name, token: reply.token, ttlMs: 120_000 });
    }
    await locks.redis.script('FLUSH');
    expect(await locks.store.renew([...leases, { name: 'x', owner: 'x', token: 1, ttlMs: 1 }])).toEqual([
      'x',
    ]);
    for (const { name } of leases) {
      expect((await locks.store.inspect(name)).holder?.leftMs).toBeGreaterThan(60_000);
    }
  });

  it('refuses a batch of renewals as a whole when the server refuses one', async () => {
    await locks.redis.set(`${locks.prefix}:lock:{odd}:holder`, 'not a hash');
    const renewal = { name: 'odd', owner: 'a', token: 1, ttlMs: 1_000 };
    await expect(locks.store.renew([renewal])).rejects.toThrow('WRONGTYPE');
  });
});
