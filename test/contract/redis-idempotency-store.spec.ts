/** The Redis store of idempotency records keeps the contract, agrees with the memory store, and heals itself. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  openRedisIdempotencyStore,
  type RedisIdempotencyHarness,
} from '../support/redis-idempotency-store.js';
import { LONG_MS } from './idempotency-store.contract.js';
import { describeRedisIdempotencyStore, onEveryServer } from './redis-contracts.js';
import { command, IdempotencyModel, IdempotencyRunner, KINDS, OWNERS } from './idempotency-model.js';

onEveryServer(describeRedisIdempotencyStore);

describe('RedisIdempotencyStore', () => {
  let harness: RedisIdempotencyHarness;
  beforeEach(async () => {
    harness = await openRedisIdempotencyStore();
  });
  afterEach(() => harness.close());

  const pairs = KINDS.flatMap((first) => KINDS.map((second) => ({ first, second })));

  it.each(pairs)('lets $first and $second of two owners happen in one order or the other', async (pair) => {
    let run = 0;
    const property = fc.asyncProperty(fc.array(command(), { maxLength: 6 }), async (prefix) => {
      const real = new IdempotencyRunner(harness, `${pair.first}-${pair.second}-${(run += 1)}`);
      for (const step of prefix) await real.apply(step);
      const a = { kind: pair.first, owner: OWNERS[0] };
      const b = { kind: pair.second, owner: OWNERS[1] };

      const both = await Promise.all([real.apply(a), real.apply(b)]);
      const seen = { both, state: await real.state() };

      const possible: unknown[] = [];
      for (const order of [[a, b] as const, [b, a] as const]) {
        const model = new IdempotencyModel();
        for (const step of prefix) await model.apply(step);
        const replies = new Map<object, unknown>();
        for (const step of order) replies.set(step, await model.apply(step));
        possible.push({ both: [replies.get(a), replies.get(b)], state: await model.state() });
      }
      expect(possible).toContainEqual(seen);
    });
    await fc.assert(property, { numRuns: 30 });
  });

  it('keeps a record under one key of its own slot, readable with redis-cli, with a time to live', async () => {
    const { store, redis, prefix } = harness;
    const key = `${prefix}:idempotency:{http|POST|/orders/:id|a%7Bb}:record`;
    const reply = await store.begin('http|POST|/orders/:id|a{b', 'f', 'host:1:x', LONG_MS);
    if (reply.kind !== 'started') throw new Error(reply.kind);
    expect(await redis.keys(`${prefix}:*`)).toEqual([key]);
    expect(await redis.hgetall(key)).toMatchObject({
      status: 'processing',
      fingerprint: 'f',
      lease_owner: 'host:1:x',
      fencing_token: `${reply.token}`,
    });
    expect(await redis.pttl(key)).toBeGreaterThan(LONG_MS);
    await store.complete('http|POST|/orders/:id|a{b', reply.token, '{"value":1}', 5_000);
    expect(await redis.hgetall(key)).toMatchObject({ status: 'done', result: '{"value":1}' });
    expect(await redis.pttl(key)).toBeLessThanOrEqual(5_000);
  });

  it('goes past the last token when the clock of the server is behind it', async () => {
    const { store, redis, prefix } = harness;
    const ahead = Date.now() * 1_000 + 1e12;
    await store.begin('key', undefined, 'a', LONG_MS);
    await redis.hset(`${prefix}:idempotency:{key}:record`, { fencing_token: ahead, lease_expires_at: 1 });
    expect(await store.begin('key', undefined, 'b', LONG_MS)).toMatchObject({
      kind: 'started',
      token: ahead + 1,
    });
  });

  it('keeps nothing of a released operation but its token, for an hour', async () => {
    const { store, redis, prefix } = harness;
    const record = `${prefix}:idempotency:{key}:record`;
    const reply = await store.begin('key', 'f', 'a', LONG_MS);
    if (reply.kind !== 'started') throw new Error(reply.kind);
    await store.release('key', reply.token);
    expect(await redis.hgetall(record)).toEqual({ fencing_token: `${reply.token}` });
    expect(await redis.pttl(record)).toBeGreaterThan(3_590_000);
    expect(await redis.pttl(record)).toBeLessThanOrEqual(3_600_000);
  });

  it('mints a higher token after everything was deleted', async () => {
    const { store, redis, prefix } = harness;
    const first = await store.begin('key', undefined, 'a', LONG_MS);
    await redis.del(`${prefix}:idempotency:{key}:record`);
    const second = await store.begin('key', undefined, 'b', LONG_MS);
    if (first.kind !== 'started' || second.kind !== 'started') throw new Error('both should start');
    expect(second.token).toBeGreaterThan(first.token);
    expect(await store.complete('key', first.token, '{}', LONG_MS)).toBe(false);
  });
});
