/** A `LockService` on a real Redis as one process has it: with a connection of its own. */
import { LockService } from '@fenceline/nestjs';
import { INTERNAL } from '#lib/options/defaults.js';
import { RedisConnection } from '#lib/store/redis/connection.js';
import { RedisLockStore } from '#lib/store/redis/redis-lock-store.js';

export interface OpenedLocks {
  readonly locks: LockService;
  close(): Promise<void>;
}

export async function openLockService(
  url: string,
  prefix: string,
  commandTimeoutMs = 5_000,
): Promise<OpenedLocks> {
  const connection = new RedisConnection(
    { url },
    { commandTimeoutMs, reconnect: INTERNAL.storeRetry, warn: () => {} },
  );
  await connection.open();
  const locks = new LockService(new RedisLockStore(connection, prefix));
  return {
    locks,
    close: async () => {
      await locks.close();
      await connection.close();
    },
  };
}
