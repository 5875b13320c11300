/** The contract suites of the three stores on Redis, for every server there is and a way to connect to it. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe } from '@jest/globals';
import type { RedisConnectionOptions } from '#lib/store/redis/connection.js';
import { openRedisLocks } from '../support/lock-stores.js';
import { openRedisIdempotencyStore } from '../support/redis-idempotency-store.js';
import { SERVERS, useServer } from '../support/redis-servers.js';
import { openRedisStore } from '../support/redis-store.js';
import type { RedisTarget } from '../support/redis-target.js';
import { newPrefix } from '../support/redis.js';
import { describeIdempotencyStoreContract, KEY } from './idempotency-store.contract.js';
import { describeJobStoreContract } from './job-store.contract.js';
import { describeLockStoreContract } from './lock-store.contract.js';

/** Runs one of the suites below on every server, connected to in the usual way. */
export function onEveryServer(describeContract: (target: () => RedisTarget) => void): void {
  describe.each(SERVERS)('$name', (server) => {
    const url = useServer(server);
    describeContract(() => ({ url: url(), connection: { url: url() }, prefix: newPrefix() }));
  });
}

/** Runs all suites on every server. `connect` says how the stores shall reach the one at that URL. */
export function describeRedisContracts(how: string, connect: (url: string) => RedisConnectionOptions): void {
  describe.each(SERVERS)(`$name, ${how}`, (server) => {
    const url = useServer(server);
    describeAllContracts(() => ({ url: url(), connection: connect(url()), prefix: newPrefix() }));
  });
}

export function describeAllContracts(target: () => RedisTarget): void {
  describeRedisJobStore(target);
  describeRedisLockStore(target);
  describeRedisIdempotencyStore(target);
}

// Redis's clock is the only clock and cannot be moved; the suites keep the times they let pass short.

export function describeRedisJobStore(target: () => RedisTarget): void {
  describeJobStoreContract('redis', async ({ retention = {} }) => {
    const { store, close } = await openRedisStore(retention, target());
    return { store, advance: (ms) => sleep(ms), close };
  });
}

export function describeRedisLockStore(target: () => RedisTarget): void {
  describeLockStoreContract('redis', () => openRedisLocks(target()));
}

export function describeRedisIdempotencyStore(target: () => RedisTarget): void {
  describeIdempotencyStoreContract('redis', async () => {
    const { store, redis, prefix, close } = await openRedisIdempotencyStore(target());
    const stepBack = async (): Promise<void> => {
      await redis.hincrby(`${prefix}:idempotency:{${KEY}}:record`, 'fencing_token', 3_600_000_000);
    };
    return { store, advance: (ms) => sleep(ms), stepBack, close };
  });
}
