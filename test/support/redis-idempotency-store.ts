/** A store of idempotency records on the real Redis, in a namespace of its own. */
import type { Redis } from 'ioredis';
import { INTERNAL } from '#lib/options/defaults.js';
import { RedisConnection } from '#lib/store/redis/connection.js';
import { RedisIdempotencyStore } from '#lib/store/redis/redis-idempotency-store.js';
import { deletePrefix, newPrefix, openRedis, redisUrl } from './redis.js';

export interface RedisIdempotencyHarness {
  readonly store: RedisIdempotencyStore;
  readonly redis: Redis;
  readonly prefix: string;
  /** Redis's clock cannot be moved, but what it is compared with can. */
  expireLease(key: string): Promise<void>;
  close(): Promise<void>;
}

export async function openRedisIdempotencyStore(): Promise<RedisIdempotencyHarness> {
  const prefix = newPrefix();
  const redis = openRedis();
  const connection = new RedisConnection(
    { url: redisUrl() },
    { commandTimeoutMs: 5_000, reconnect: INTERNAL.storeRetry, warn: () => {} },
  );
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
