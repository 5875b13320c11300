/** Opens the storage that the options name and makes a store for each queue. */
import type { LoggerService } from '@nestjs/common';
import { IncompatibleStoreError } from '../errors/errors.js';
import { INTERNAL } from '../options/defaults.js';
import type { ResolvedOptions, ResolvedQueueOptions } from '../options/resolve-options.js';
import type { IdempotencyStore } from '../store/idempotency-store.js';
import type { JobStore } from '../store/job-store.js';
import { MemoryIdempotencyStore } from '../store/memory/memory-idempotency-store.js';
import type { LockStore } from '../store/lock-store.js';
import { MemoryJobStore } from '../store/memory/memory-job-store.js';
import { MemoryLockStore } from '../store/memory/memory-lock-store.js';
import { MemoryLocks } from '../store/memory/memory-locks.js';
import { PartitionedJobStore } from '../store/partitioned-job-store.js';
import { CheckedConnection } from '../store/redis/checked-connection.js';
import { openConnection } from '../store/redis/open-connection.js';
import { checkPartitions, partitionNames } from '../store/redis/partition-record.js';
import { checkPermissions } from '../store/redis/permissions.js';
import { RedisIdempotencyStore } from '../store/redis/redis-idempotency-store.js';
import { RedisJobStore } from '../store/redis/redis-job-store.js';
import { RedisLockStore } from '../store/redis/redis-lock-store.js';
import type { StoreConnection } from '../store/redis/store-connection.js';

export interface StoreBackend {
  createStore(queue: ResolvedQueueOptions): JobStore;
  readonly idempotency: IdempotencyStore;
  createLockStore(): LockStore;
  close(): Promise<void>;
}

/**
 * Waits for the first answer of the store, but not for ever: an app that only enqueues now and then should
 * not fail to boot because Redis restarts. Until it answers, calls fail with typed errors and readiness is down.
 * @throws IncompatibleStoreError when the server can never be used
 */
export async function openBackend(options: ResolvedOptions, logger: LoggerService): Promise<StoreBackend> {
  const { connection, connectionGiven, prefix, commandTimeoutMs } = options;
  if (connection === 'memory') {
    if (!connectionGiven) {
      logger.warn(
        'No connection is configured: jobs are kept in memory and are lost when this process ends. ' +
          "Set connection: { url: 'redis://…' }, or connection: 'memory' to say that you mean it.",
      );
    }
    return {
      createStore: ({ name: queue, retention, partitions }) =>
        spread(
          partitionNames({ queue, partitions }).map((name) => new MemoryJobStore({ queue: name, retention })),
        ),
      idempotency: new MemoryIdempotencyStore(),
      createLockStore: () => new MemoryLockStore(new MemoryLocks()),
      close: async () => {},
    };
  }
  const redis = openConnection(connection, {
    commandTimeoutMs,
    reconnect: INTERNAL.storeRetry,
    warn: (message) => logger.warn(message),
  });
  const checked = new Set<string>();
  try {
    await redis.open();
    const [first] = options.queues;
    const [anyPartition = first.name] = partitionNames({ queue: first.name, partitions: first.partitions });
    await checkPermissions(redis, { prefix, queue: anyPartition, worker: options.worker });
    for (const { name: queue, partitions } of options.queues) {
      await checkPartitions(redis, { prefix, queue, partitions });
      checked.add(queue);
    }
  } catch (error) {
    if (error instanceof IncompatibleStoreError) {
      await redis.close();
      throw error;
    }
    const reason = error instanceof Error ? error.message : String(error);
    logger.error(`${reason} The app starts without it and keeps trying; until then enqueue fails.`);
  }
  return {
    createStore: ({ name: queue, retention, partitions }) => {
      const ready: StoreConnection = checked.has(queue)
        ? redis
        : new CheckedConnection(redis, () => checkPartitions(redis, { prefix, queue, partitions }));
      return spread(
        partitionNames({ queue, partitions }).map(
          (name) => new RedisJobStore(ready, { prefix, queue: name, retention }),
        ),
      );
    },
    idempotency: new RedisIdempotencyStore(redis, prefix),
    createLockStore: () => new RedisLockStore(redis, prefix),
    close: () => redis.close(),
  };
}

/** One store for all of them. A queue that is not partitioned pays for nothing. */
function spread(partitions: readonly JobStore[]): JobStore {
  const [first, ...others] = partitions;
  return first && others.length === 0 ? first : new PartitionedJobStore(partitions);
}
