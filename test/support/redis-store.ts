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
  readonly connection: RedisConnection;
  readonly redis: Redis;
  readonly prefix: string;
  /** Full name of a key of the queue. */
  readonly key: (name: string) => string;
  readonly close: () => Promise<void>;
}

type RetentionChanges = Partial<Record<EndedStatus, { readonly count: number; readonly ageMs: number }>>;

export async function openRedisStore(
  retention: RetentionChanges = {},
  target = usualTarget(),
): Promise<RedisStoreHarness> {
  const queue = 'jobs';
  const { stores, prefix, ...rest } = await openRedisStores([queue], retention, target);
  const [store] = stores;
  if (!store) throw new Error('one store was to be opened');
  return { ...rest, store, prefix, key: (name) => `${prefix}:{${queue}}:${name}` };
}

/** One store per queue, on one connection. */
export async function openRedisStores(
  queues: readonly string[],
  retention: RetentionChanges = {},
  target = usualTarget(),
): Promise<{
  stores: RedisJobStore[];
  connection: RedisConnection;
  redis: Redis;
  prefix: string;
  close: () => Promise<void>;
}> {
  const { prefix } = target;
  const redis = openRedis(target.url);
  const connection = new RedisConnection(target.connection, {
    commandTimeoutMs: 5_000,
    reconnect: INTERNAL.storeRetry,
    warn: () => {},
  });
  await connection.open();
  const kept = { done: PLENTY, dead: PLENTY, cancelled: PLENTY, ...retention };
  const stores = queues.map((queue) => new RedisJobStore(connection, { prefix, queue, retention: kept }));
  const close = async (): Promise<void> => {
    await connection.close();
    await deletePrefix(redis, prefix);
    redis.disconnect();
  };
  return { stores, connection, redis, prefix, close };
}
