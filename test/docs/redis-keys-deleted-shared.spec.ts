/** As redis-keys-deleted.spec.ts: the keys that jobs share, and those of locks and idempotency records. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { LONG_MS, once, OUTCOMES, PASSED_MS, StoreDriver, unique } from '../contract/contract-store.js';
import { openRedisLocks, type RedisLocks } from '../support/lock-stores.js';
import { openRedisIdempotencyStore } from '../support/redis-idempotency-store.js';
import { openRedisStore, type RedisStoreHarness } from '../support/redis-store.js';

describe('a deleted key that jobs share', () => {
  let harness: RedisStoreHarness;
  let driver: StoreDriver;

  beforeEach(async () => {
    harness = await openRedisStore();
    const advance = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
    driver = new StoreDriver({ store: harness.store, advance, close: harness.close });
  });
  afterEach(() => driver.close());

  const deleteKeys = (...names: string[]): Promise<number> => harness.redis.del(...names.map(harness.key));
  const claimIds = () => driver.claimIds();
  const counts = () => driver.counts();
  const reapNow = () => driver.store.reap(PASSED_MS / 2, 10);

  it('lock: the first that waits runs beside the holder', async () => {
    await driver.enqueueWith({ resource: 'r' }, 'a', 'b', 'c');
    const [holder] = await driver.claim();
    await deleteKeys('lock:resource:r');
    await driver.enqueueWith({ resource: 'r' }, 'd');
    expect(await driver.exchange({ claimMax: 10 })).toMatchObject({
      ...{ claimed: [{ jobId: 'b' }], blocked: ['d'] },
    });
    expect(await counts()).toEqual({ processing: 2, blocked: 2 });
    // Its end changes nothing for those that wait for the other one.
    if (holder) await driver.settle(holder, OUTCOMES.done);
    expect(await claimIds()).toEqual([]);
  });

  it('waiting: its jobs stay blocked until the holder has ended and a reap has found them', async () => {
    await driver.enqueueWith({ resource: 'r' }, 'a', 'b', 'c');
    const [holder] = await driver.claim();
    await deleteKeys('waiting:resource:r');
    await reapNow();
    expect(await claimIds()).toEqual([]);
    if (holder) await driver.settle(holder, OUTCOMES.done);
    expect(await claimIds()).toEqual([]);
    await reapNow();
    expect((await driver.drain()).toSorted()).toEqual(['b', 'c']);
  });

  it('dedup: the next job is stored and owns the key; the end of the old owner does not free it', async () => {
    await driver.enqueueWith({ dedup: unique('d') }, 'a');
    await deleteKeys('dedup:d');
    const keys = { dedup: unique('d') };
    expect(await driver.enqueue('b', { keys })).toMatchObject({ jobId: 'b', duplicate: false });
    await driver.settle(await driver.claimOne(), OUTCOMES.done);
    expect(await driver.enqueue('c', { keys })).toMatchObject({ jobId: 'b', duplicate: true });
  });

  it('dedup: a follow-up runs after the next reap, even beside the owner', async () => {
    const keys = { dedup: unique('d', { onDuplicate: 'rerun' }) };
    await driver.enqueueWith(keys, 'a');
    await driver.claimOne();
    await driver.enqueueWith(keys, 'b');
    await deleteKeys('dedup:d');
    expect(await claimIds()).toEqual([]);
    await reapNow();
    expect(await claimIds()).toEqual(['b']);
    expect(await counts()).toEqual({ processing: 2 });
  });

  it('idempotency: the operation is run again, whatever its fingerprint', async () => {
    await driver.enqueueWith({ idempotency: once('i') }, 'a');
    expect(await driver.drain()).toEqual(['a']);
    await deleteKeys('idempotency:i');
    await driver.enqueueWith({ idempotency: once('i', { fingerprint: 'other' }) }, 'b');
    expect(await driver.drain()).toEqual(['b']);
  });

  it('idempotency: a running job records its result all the same', async () => {
    await driver.enqueueWith({ idempotency: once('i') }, 'a');
    const holder = await driver.claimOne();
    await deleteKeys('idempotency:i');
    await driver.settle(holder, OUTCOMES.done);
    await driver.enqueueWith({ idempotency: once('i') }, 'b');
    expect(await driver.exchange({ claimMax: 1 })).toMatchObject({ claimed: [], replayed: ['b'] });
  });
});

describe('a deleted key of a lock', () => {
  let locks: RedisLocks;
  beforeEach(async () => void (locks = await openRedisLocks()));
  afterEach(() => locks.close());

  const deleteOf = (part: string): Promise<number> => locks.redis.del(`${locks.prefix}:${part}`);
  const acquire = (owner: string, waitMs = 0) =>
    locks.store.acquire({ name: 'l', owner, ttlMs: LONG_MS, waitMs });
  const waiters = async () => (await locks.store.inspect('l')).waiters;

  it('holder: the next one who asks works beside the holder, which hears it at its next renewal', async () => {
    const first = await acquire('one');
    const token = first.granted ? first.token : 0;
    await deleteOf('lock:{l}:holder');
    const second = await acquire('two');
    expect(second).toMatchObject({ granted: true });
    expect(second.granted && second.token).toBeGreaterThan(token);
    expect(await locks.store.renew([{ name: 'l', owner: 'one', token, ttlMs: LONG_MS }])).toEqual(['one']);
  });

  it('fence: the next token is greater all the same', async () => {
    const first = await acquire('one');
    const token = first.granted ? first.token : 0;
    await locks.store.release({ name: 'l', owner: 'one', token });
    await deleteOf('lock:{l}:fence');
    const second = await acquire('two');
    expect(second.granted && second.token).toBeGreaterThan(token);
  });

  it.each(['waiters', 'waiting'])('%s: those that wait stand in line again when they ask', async (part) => {
    const first = await acquire('one');
    await acquire('two', LONG_MS);
    await acquire('three', LONG_MS);
    await deleteOf(`lock:{l}:${part}`);
    expect(await waiters()).toEqual([]);
    if (first.granted) await locks.store.release({ name: 'l', owner: 'one', token: first.token });
    expect(await acquire('three', LONG_MS)).toMatchObject({ granted: true });
    expect(await acquire('two', LONG_MS)).toMatchObject({ granted: false });
    expect(await waiters()).toEqual(['two']);
  });

  it('value: an older lease can write once more', async () => {
    const write = (token: number) => locks.store.fencedSet('v', `${token}`, { owner: 'one', token });
    await write(2);
    expect(await write(1)).toEqual({ written: false, current: 2 });
    await deleteOf('fenced:{v}:value');
    expect(await locks.store.fencedGet('v')).toBeUndefined();
    expect(await write(1)).toEqual({ written: true });
  });
});

describe('a deleted record of an operation', () => {
  it('record: it runs again, and what the first run reports is refused', async () => {
    const { store, redis, prefix, close } = await openRedisIdempotencyStore();
    const forget = () => redis.del(`${prefix}:idempotency:{o}:record`);
    try {
      const first = await store.begin('o', undefined, 'one', LONG_MS);
      await forget();
      const second = await store.begin('o', undefined, 'two', LONG_MS);
      if (first.kind !== 'started' || second.kind !== 'started') throw new Error('both must have begun');
      expect(await store.complete('o', first.token, '1', LONG_MS)).toBe(false);
      expect(await store.complete('o', second.token, '2', LONG_MS)).toBe(true);
      await forget();
      expect(await store.begin('o', undefined, 'three', LONG_MS)).toMatchObject({ kind: 'started' });
    } finally {
      await close();
    }
  });
});
