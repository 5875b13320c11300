/** Lock stores for tests: on the memory of the test with a clock of its own, and on the real Redis with its own namespace. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { INTERNAL } from '#lib/options/defaults.js';
import { MemoryLockStore } from '#lib/store/memory/memory-lock-store.js';
import { MemoryLocks } from '#lib/store/memory/memory-locks.js';
import { RedisConnection } from '#lib/store/redis/connection.js';
import { RedisLockStore } from '#lib/store/redis/redis-lock-store.js';
import type { LockContractStore } from '../contract/lock-contract-store.js';
import { usualTarget } from './redis-target.js';
import { deletePrefix, openRedis } from './redis.js';

export function openMemoryLocks(): LockContractStore {
  // Some time of its own, so that nothing can depend on the real one.
  let now = 1_000_000_000_000;
  const locks = new MemoryLocks(() => now);
  const store = new MemoryLockStore(locks);
  return {
    store,
    openPeer: () => new MemoryLockStore(locks),
    advance: async (ms) => {
      now += ms;
    },
    deleteEverything: async () => {
      locks.clear();
      now += 1;
    },
    close: () => store.close(),
  };
}

export interface RedisLocks extends LockContractStore {
  readonly store: RedisLockStore;
  readonly connection: RedisConnection;
  readonly redis: Redis;
  readonly prefix: string;
}

export async function openRedisLocks(target = usualTarget()): Promise<RedisLocks> {
  const { prefix } = target;
  const redis = openRedis(target.url);
  const connection = new RedisConnection(target.connection, {
    commandTimeoutMs: 5_000,
    reconnect: INTERNAL.storeRetry,
    warn: () => {},
  });
  await connection.open();
  const store = new RedisLockStore(connection, prefix);
  const stores = [store];
  return {
    store,
    connection,
    redis,
    prefix,
    openPeer: () => {
      const peer = new RedisLockStore(connection, prefix);
      stores.push(peer);
      return peer;
    },
    // Redis's clock is the only clock and cannot be moved; the suite keeps the times it lets pass short.
    advance: (ms) => sleep(ms),
    deleteEverything: () => deletePrefix(redis, prefix),
    close: async () => {
      await Promise.all(stores.map((opened) => opened.close()));
      await connection.close();
      await deletePrefix(redis, prefix);
      redis.disconnect();
    },
  };
}
