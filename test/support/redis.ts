/** The real Redis that scripts/test.mjs brought, with a namespace of its own for each test. */
import { randomBytes } from 'node:crypto';
import { Redis } from 'ioredis';

export function redisUrl(): string {
  const url = process.env.REDIS_URL;
  if (!url) throw new Error('REDIS_URL is not set. Run the tests with: npm test');
  return url;
}

/** Unique, so that the suite can run twice at once on one Redis. */
export function newPrefix(): string {
  return `test-${randomBytes(6).toString('hex')}`;
}

/** A plain client, to look at Redis from outside. The caller disconnects it. */
export function openRedis(url = redisUrl()): Redis {
  const client = new Redis(url, { maxRetriesPerRequest: 1 });
  client.on('error', () => {});
  return client;
}

export async function keysOf(client: Redis, prefix: string): Promise<string[]> {
  const keys: string[] = [];
  let cursor = '0';
  do {
    const [next, found] = await client.scan(cursor, 'MATCH', `${prefix}:*`, 'COUNT', 1_000);
    keys.push(...found);
    cursor = next;
  } while (cursor !== '0');
  return keys;
}

export async function deletePrefix(client: Redis, prefix: string): Promise<void> {
  const keys = await keysOf(client, prefix);
  if (keys.length > 0) await client.unlink(...keys);
}
