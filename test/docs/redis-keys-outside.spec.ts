/** docs/redis-keys.md against the real keys of locks, fenced values and idempotency records. */
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { IdempotencyKeys } from '#lib/store/redis/keys.js';
import { LONG_MS } from '../contract/contract-store.js';
import { openRedisLocks } from '../support/lock-stores.js';
import { openRedisIdempotencyStore } from '../support/redis-idempotency-store.js';
import { keysOf } from '../support/redis.js';
import { fieldsIn, patternsOf } from './key-patterns.js';
import { codeSpans, readDocument, table } from './markdown.js';

const DOCUMENT = readDocument('docs/redis-keys.md');
const outsideRows = table(DOCUMENT, 'Key', '## Keys outside of queues');
const outside = patternsOf(outsideRows);

describe('docs/redis-keys.md, outside of queues', () => {
  /** Key without the prefix → its type and, of a hash with fields of ours, their names. */
  const seen = new Map<string, { readonly type: string; readonly fields: Set<string> }>();

  const look = async (redis: Redis, prefix: string): Promise<void> => {
    for (const full of await keysOf(redis, prefix)) {
      const name = full.slice(prefix.length + 1);
      const type = await redis.type(full);
      if (type === 'none') continue;
      const fields = seen.get(name)?.fields ?? new Set();
      if (type === 'hash') for (const field of await redis.hkeys(full)) fields.add(field);
      seen.set(name, { type, fields });
    }
  };

  beforeAll(async () => {
    const locks = await openRedisLocks();
    const records = await openRedisIdempotencyStore();
    try {
      const request = { name: 'a{b}%', owner: 'host:1:x', ttlMs: LONG_MS, waitMs: LONG_MS };
      await locks.store.acquire(request);
      await locks.store.acquire({ ...request, owner: 'host:1:y' });
      await locks.store.fencedSet('a{b}%', 'value', { owner: 'host:1:x', token: 1 });
      await look(locks.redis, locks.prefix);

      const begun = await records.store.begin('service|a{b}%', 'fingerprint', 'owner', LONG_MS);
      await look(records.redis, records.prefix);
      if (begun.kind === 'started') await records.store.complete('service|a{b}%', begun.token, '1', LONG_MS);
      await look(records.redis, records.prefix);
    } finally {
      await locks.close();
      await records.close();
    }
  });

  it('documents every key that is there, with its type', () => {
    const undocumented = [...seen].filter(
      ([name, { type }]) =>
        outside.filter((pattern) => pattern.matches.test(name) && pattern.type === type).length !== 1,
    );
    expect(undocumented).toEqual([]);
  });

  it('documents no key that is never there', () => {
    const names = [...seen.keys()];
    expect(outside.filter(({ matches }) => !names.some((name) => matches.test(name)))).toEqual([]);
  });

  it('documents the fields of each hash', () => {
    for (const [i, { text, matches, type }] of outside.entries()) {
      // The fields of this one are owners.
      if (type !== 'hash' || text.endsWith(':waiting')) continue;
      const real = [...seen].filter(([name]) => matches.test(name)).flatMap(([, { fields }]) => [...fields]);
      expect([text, new Set(real)]).toEqual([text, new Set(fieldsIn(outsideRows[i]))]);
    }
  });

  it('says what happens when each of those outside of queues is deleted', () => {
    const explained = table(DOCUMENT, 'Deleted outside of queues').flatMap((row) =>
      codeSpans(row['Deleted outside of queues']),
    );
    expect(outside.map(({ text }) => text).toSorted()).toEqual(explained.toSorted());
  });

  it('says how names are written', () => {
    expect(new IdempotencyKeys('fl', '%{').record).toBe('fl:idempotency:{%25%7B}:record');
    expect(DOCUMENT).toMatch(/`%`, braces .* are written as `%25`, `%7B`/);
  });
});
