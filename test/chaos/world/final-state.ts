/** Everything that Redis holds under a prefix, as plain data for the checker. */
import type { Redis } from 'ioredis';
import { keysOf } from '../../support/redis.js';

export type KeyValue =
  | { readonly type: 'string'; readonly text: string }
  | { readonly type: 'hash'; readonly fields: Readonly<Record<string, string>> }
  | { readonly type: 'list'; readonly items: readonly string[] }
  | { readonly type: 'zset'; readonly scores: Readonly<Record<string, number>> };

export type StoredKey = KeyValue & {
  /** ms until it expires; -1: never. */
  readonly ttlMs: number;
};

/** Keys without the prefix of the run: `{jobs}:run:p1-7`, `lock:{lock-1}:fence`. */
export type FinalState = Readonly<Record<string, StoredKey>>;

const BATCH = 1_000;

export async function readFinalState(client: Redis, prefix: string): Promise<FinalState> {
  const state: Record<string, StoredKey> = {};
  const keys = await keysOf(client, prefix);
  for (let from = 0; from < keys.length; from += BATCH) {
    const batch = [...new Set(keys.slice(from, from + BATCH))];
    const [types, ttls] = await Promise.all([
      Promise.all(batch.map((key) => client.type(key))),
      Promise.all(batch.map((key) => client.pttl(key))),
    ]);
    const values = await Promise.all(batch.map((key, i) => readKey(client, key, types[i] ?? '')));
    for (const [i, key] of batch.entries()) {
      const value = values[i];
      if (value) state[key.slice(prefix.length + 1)] = { ...value, ttlMs: ttls[i] ?? -1 };
    }
  }
  return state;
}

/** `undefined`: it expired under our eyes. */
async function readKey(client: Redis, key: string, type: string): Promise<KeyValue | undefined> {
  switch (type) {
    case 'none':
      return undefined;
    case 'string':
      return { type, text: (await client.get(key)) ?? '' };
    case 'hash':
      return { type, fields: await client.hgetall(key) };
    case 'list':
      return { type, items: await client.lrange(key, 0, -1) };
    case 'zset':
      return { type, scores: pairs(await client.zrangebyscore(key, '-inf', '+inf', 'WITHSCORES')) };
    default:
      throw new Error(`${key} is a ${type}, which no part of the product writes`);
  }
}

function pairs(flat: readonly string[]): Record<string, number> {
  const scores: Record<string, number> = {};
  for (let i = 0; i < flat.length; i += 2) scores[flat[i] ?? ''] = Number(flat[i + 1]);
  return scores;
}
