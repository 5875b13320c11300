/** Opens the Redis stores as some user, takes them through everything, and tells what did not work. */
import { setTimeout as sleep } from 'node:timers/promises';
import { INTERNAL } from '#lib/options/defaults.js';
import { RedisConnection, type RedisConnectionOptions } from '#lib/store/redis/connection.js';
import { RedisIdempotencyStore } from '#lib/store/redis/redis-idempotency-store.js';
import { RedisJobStore } from '#lib/store/redis/redis-job-store.js';
import { RedisLockStore } from '#lib/store/redis/redis-lock-store.js';
import { StoreDriver } from '../contract/contract-store.js';
import { openRedis } from '../support/redis.js';
import { enqueueInEveryWay, enqueueOnOwners, prepareOwners } from './exercise-enqueue.js';
import { administer, attempt, hearWakeUp, leaveEntries, maintain, waitForKeys } from './exercise-jobs.js';
import { lock, runOnce } from './exercise-locks.js';

/** As the documented rules name it. */
const PREFIX = 'fl';
const PLENTY = { count: 1_000, ageMs: 86_400_000 };

interface Opened {
  readonly connection: RedisConnection;
  readonly jobs: StoreDriver;
  readonly warnings: readonly string[];
}

/** All that a process with workers sends to Redis. `adminUrl` leads to a Redis that may evict; it is emptied. */
export async function exerciseWorker(adminUrl: string, user: RedisConnectionOptions): Promise<string[]> {
  await prepare(adminUrl);
  return exercise(user, async ({ connection, jobs, warnings }, step) => {
    await step('enqueue', () => enqueueInEveryWay(jobs));
    await step('duplicates', () => enqueueOnOwners(jobs));
    await step('attempts', () => attempt(jobs));
    await step('keys', () => waitForKeys(jobs));
    await step('entries that are gone', () => leaveEntries(jobs));
    await step('administration', () => administer(jobs));
    await step('maintenance', () => maintain(jobs));
    await step('wake-ups', () => hearWakeUp(jobs));
    await step('locks', () => lock(new RedisLockStore(connection, PREFIX)));
    await step('idempotency', () => runOnce(new RedisIdempotencyStore(connection, PREFIX)));
    await step('the look at the server', () => hasLooked(warnings));
  });
}

/** All that a process sends that only enqueues. */
export async function exerciseProducer(adminUrl: string, user: RedisConnectionOptions): Promise<string[]> {
  await prepare(adminUrl);
  return exercise(user, async ({ jobs, warnings }, step) => {
    await step('enqueue', () => enqueueInEveryWay(jobs));
    await step('duplicates', () => enqueueOnOwners(jobs));
    await step('the look at the server', () => hasLooked(warnings));
  });
}

async function prepare(adminUrl: string): Promise<void> {
  const redis = openRedis(adminUrl);
  await redis.flushall();
  const { connection, jobs } = open({ url: adminUrl });
  await prepareOwners(jobs, redis);
  await connection.close();
  // Whatever is only written when it is not there yet shall not be there, nor any script.
  const written = await Promise.all(
    ['stats*', 'worker:*', 'wake', 'meta'].map((key) => redis.keys(`fl:{jobs}:${key}`)),
  );
  await redis.del(written.flat());
  await redis.script('FLUSH');
  redis.disconnect();
}

/** What INFO is for: the warning about a server that evicts. */
async function hasLooked(warnings: readonly string[]): Promise<void> {
  if (!warnings.some((text) => text.includes('maxmemory-policy'))) throw new Error('it saw no policy');
}

function open(options: RedisConnectionOptions): Opened {
  const warnings: string[] = [];
  const connection = new RedisConnection(options, {
    commandTimeoutMs: 1_000,
    reconnect: INTERNAL.storeRetry,
    warn: (message) => void warnings.push(message),
  });
  const store = new RedisJobStore(connection, {
    prefix: PREFIX,
    queue: 'jobs',
    retention: { done: { ...PLENTY, count: 1 }, dead: PLENTY, cancelled: PLENTY },
  });
  const jobs = new StoreDriver({ store, advance: (ms) => sleep(ms), close: () => connection.close() });
  return { connection, jobs, warnings };
}

type Step = (name: string, run: () => Promise<void>) => Promise<void>;

async function exercise(
  user: RedisConnectionOptions,
  run: (opened: Opened, step: Step) => Promise<void>,
): Promise<string[]> {
  const opened = open(user);
  const problems: string[] = [];
  const step: Step = async (name, act) => {
    await act().catch((error: unknown) => void problems.push(`${name}: ${String(error)}`));
  };
  try {
    await opened.connection.open();
    await run(opened, step);
  } catch (error) {
    problems.push(`opening: ${String(error)}`);
  } finally {
    await opened.connection.close();
  }
  return problems;
}
