/** A `RedisJobStore` with a namespace of its own, and a client to look at its keys from outside. */
import type { Redis } from 'ioredis';
import type { EndedStatus } from '#lib/job/job.js';
import { INTERNAL } from '#lib/options/defaults.js';
import { RedisConnection } from '#lib/store/redis/connection.js';
import { RedisJobStore } from '#lib/store/redis/redis-job-store.js';
import { usualTarget } from './redis-target.js';
import { deletePrefix, openRedis } from './redis.js';

const PLENTY = { count: 100_000, ageMs: 86_400_000 };

export interface RedisStoreHarness {
  readonly store: RedisJobStore;
  readonly redis: Redis;
  readonly prefix: string;
  /** Full name of a key of the queue. */
  readonly key: (name: string) => string;
  readonly close: () => Promise<void>;
}

export async function openRedisStore(
  retention: Partial<Record<EndedStatus, { readonly count: number; readonly ageMs: number }>> = {},
  target = usualTarget(),
): Promise<RedisStoreHarness> {
  const { prefix } = target;
  const queue = 'jobs';
  const redis = openRedis(target.url);
  const connection = new RedisConnection(target.connection, {
    commandTimeoutMs: 5_000,
    reconnect: INTERNAL.storeRetry,
    warn: () => {},
  });
  await connection.open();
  const store = new RedisJobStore(connection, {
    prefix,
    queue,
    retention: { done: PLENTY, dead: PLENTY, cancelled: PLENTY, ...retention },
  });
  const close = async (): Promise<void> => {
    await connection.close();
    await deletePrefix(redis, prefix);
    redis.disconnect();
  };
  return { store, redis, prefix, key: (name) => `${prefix}:{${queue}}:${name}`, close };
}
