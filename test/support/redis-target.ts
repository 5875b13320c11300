/** Where a test opens its stores: on which server, as whom, through which client, and under which prefix. */
import type { RedisConnectionOptions } from '#lib/store/redis/connection.js';
import { newPrefix, redisUrl } from './redis.js';

export interface RedisTarget {
  /** For looking from outside, as a user who may do everything. */
  readonly url: string;
  /** For the store. */
  readonly connection: RedisConnectionOptions;
  readonly prefix: string;
}

/** The Redis of the test run, as most tests use it, with a namespace of its own. */
export function usualTarget(): RedisTarget {
  const url = redisUrl();
  return { url, connection: { url }, prefix: newPrefix() };
}
