import { once } from 'node:events';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { StoreUnavailableError } from '../errors/errors.js';
import { LockLostError } from '../errors/lock-errors.js';
import type { LockRenewal } from '../store/lock-store.js';
import { MemoryLockStore } from '../store/memory/memory-lock-store.js';
import { MemoryLocks } from '../store/memory/memory-locks.js';
import { LockService } from './lock.service.js';

class CountingStore extends MemoryLockStore {
  readonly renewals: (readonly LockRenewal[])[] = [];
  /** Stands in for the store's answer. */
  answer: (() => Promise<readonly string[]>) | undefined;

  override renew(leases: readonly LockRenewal[]): Promise<readonly string[]> {
    this.renewals.push(leases);
    return this.answer?.() ?? super.renew(leases);
  }
}

let store: CountingStore;
let locks: LockService;
beforeEach(() => {
  jest.useFakeTimers();
  store = new CountingStore(new MemoryLocks(() => performance.now()));
  locks = new LockService(store);
});
afterEach(async () => {
  await locks.close();
  jest.useRealTimers();
});

it('renews all leases in one call per interval, whenever they began', async () => {
  for (let i = 0; i < 50; i += 1) {
    await locks.acquire(`x${i}`, { ttlMs: 9_000 });
    await jest.advanceTimersByTimeAsync(20);
  }
  await jest.advanceTimersByTimeAsync(30_000);
  expect(store.renewals.map(({ length }) => length)).toEqual(Array.from({ length: 10 }, () => 50));
});

it('renews a long lease at its own pace beside a short one', async () => {
  await locks.acquire('short', { ttlMs: 300 });
  await locks.acquire('long', { ttlMs: 30_000 });
  await jest.advanceTimersByTimeAsync(20_500);
  const counts = { short: 0, long: 0 };
  for (const { name } of store.renewals.flat()) counts[name === 'long' ? 'long' : 'short'] += 1;
  expect(counts.short).toBe(205);
  expect(counts.long).toBeLessThanOrEqual(4);
});

it('keeps a lease for as long as it is held, and not a moment longer', async () => {
  const lease = await locks.acquire('x', { ttlMs: 1_000 });
  const { fencingToken } = lease;
  await jest.advanceTimersByTimeAsync(60_000);
  expect(lease.signal.aborted).toBe(false);
  expect(lease.fencingToken).toBe(fencingToken);
  const calls = store.renewals.length;
  await lease.release();
  await jest.advanceTimersByTimeAsync(60_000);
  expect(store.renewals).toHaveLength(calls);
  expect(jest.getTimerCount()).toBe(0);
});

it('fires the signal at the local deadline although every renewal hangs', async () => {
  store.answer = () => new Promise(() => {});
  const lease = await locks.acquire('x', { ttlMs: 9_000 });
  const lost = once(lease.signal, 'abort').then(() => performance.now());
  const { deadline } = lease;
  await jest.advanceTimersByTimeAsync(9_000);
  expect((await lost) - deadline).toBeLessThan(5);
  expect(lease.signal.reason).toBeInstanceOf(LockLostError);
  // A hanging one keeps no other from being tried.
  expect(store.renewals).toHaveLength(2);
  expect((await store.inspect('x')).holder).toBeUndefined();
});

it('survives an outage that is shorter than the lease', async () => {
  const lease = await locks.acquire('x', { ttlMs: 9_000 });
  store.answer = () => Promise.reject(new StoreUnavailableError('for a moment'));
  await jest.advanceTimersByTimeAsync(6_500);
  store.answer = undefined;
  await expect(lease.extend()).resolves.toBeUndefined();
  await jest.advanceTimersByTimeAsync(30_000);
  expect(lease.signal.aborted).toBe(false);
});

it('fires the signal as soon as the store says that the lease is gone', async () => {
  const lease = await locks.acquire('x', { ttlMs: 9_000 });
  await store.abandon('x', lease.owner);
  await jest.advanceTimersByTimeAsync(3_001);
  expect(lease.signal.reason).toMatchObject({ message: expect.stringContaining('deleted') });
});

it('fires the signal at the local deadline although it could not be released', async () => {
  const lease = await locks.acquire('x', { ttlMs: 9_000 });
  const { signal, deadline } = lease;
  const release = jest.spyOn(store, 'release').mockRejectedValue(new StoreUnavailableError('cut off'));
  await expect(lease.release()).rejects.toThrow('cut off');
  await jest.advanceTimersByTimeAsync(deadline - performance.now() - 1);
  expect(signal.aborted).toBe(false);
  await jest.advanceTimersByTimeAsync(2);
  expect(signal.reason).toBeInstanceOf(LockLostError);
  release.mockRestore();
  expect(await lease.release()).toBe(true);
  expect(jest.getTimerCount()).toBe(0);
});

it('notices in the signal itself that the event loop was blocked for too long', async () => {
  const lease = await locks.acquire('x', { ttlMs: 9_000 });
  jest.setSystemTime(Date.now() + 20_000);
  const now = jest.spyOn(performance, 'now').mockReturnValue(performance.now() + 20_000);
  expect(lease.signal.aborted).toBe(true);
  now.mockRestore();
});
