/** A store of idempotency records on the real Redis, in a namespace of its own. */
import type { Redis } from 'ioredis';
import { INTERNAL } from '#lib/options/defaults.js';
import { RedisConnection } from '#lib/store/redis/connection.js';
import { RedisIdempotencyStore } from '#lib/store/redis/redis-idempotency-store.js';
import { usualTarget } from './redis-target.js';
import { deletePrefix, openRedis } from './redis.js';

export interface RedisIdempotencyHarness {
  readonly store: RedisIdempotencyStore;
  readonly redis: Redis;
  readonly prefix: string;
  /** Redis's clock cannot be moved, but what it is compared with can. */
  expireLease(key: string): Promise<void>;
  close(): Promise<void>;
}

export async function openRedisIdempotencyStore(target = usualTarget()): Promise<RedisIdempotencyHarness> {
  const { prefix } = target;
  const redis = openRedis(target.url);
  const connection = new RedisConnection(target.connection, {
    commandTimeoutMs: 5_000,
    reconnect: INTERNAL.storeRetry,
    warn: () => {},
  });
  await connection.open();
  return {
    store: new RedisIdempotencyStore(connection, prefix),
    redis,
    prefix,
    expireLease: async (key) => {
      const record = `${prefix}:idempotency:{${key}}:record`;
      if ((await redis.hget(record, 'status')) === 'processing')
        await redis.hset(record, 'lease_expires_at', 1);
    },
    close: async () => {
      await connection.close();
      await deletePrefix(redis, prefix);
      redis.disconnect();
    },
  };
}
