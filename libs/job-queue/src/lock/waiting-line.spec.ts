import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { StoreUnavailableError } from '../errors/errors.js';
import type { AcquireReply, AcquireRequest } from '../store/lock-store.js';
import { MemoryLockStore } from '../store/memory/memory-lock-store.js';
import { MemoryLocks } from '../store/memory/memory-locks.js';
import { LockService } from './lock.service.js';

class UnreliableStore extends MemoryLockStore {
  readonly asked: AcquireRequest[] = [];
  /** Run before the real thing; may throw. */
  before: ((call: number) => Promise<void> | void) | undefined;
  /** Run after it. */
  after: ((call: number) => Promise<void> | void) | undefined;
  subscriptions = 0;

  override async acquire(request: AcquireRequest): Promise<AcquireReply> {
    const call = this.asked.push(request);
    await this.before?.(call);
    const reply = await super.acquire(request);
    await this.after?.(call);
    return reply;
  }

  override subscribe(...args: Parameters<MemoryLockStore['subscribe']>): Promise<void> {
    this.subscriptions += 1;
    return super.subscribe(...args);
  }
}

let store: UnreliableStore;
let locks: LockService;
beforeEach(() => {
  store = new UnreliableStore(new MemoryLocks());
  locks = new LockService(store);
});
afterEach(() => locks.close());

const outage = (): never => {
  throw new StoreUnavailableError('no connection');
};

it('waits out an outage', async () => {
  store.before = (call) => (call < 3 ? outage() : undefined);
  await expect(locks.acquire('x')).resolves.toMatchObject({ name: 'x' });
  expect(new Set(store.asked.map(({ owner }) => owner)).size).toBe(1);
});

it('reports an outage that outlasts waitMs as such', async () => {
  store.before = outage;
  await expect(locks.acquire('x', { waitMs: 50 })).rejects.toThrow('no connection');
  await expect(locks.tryAcquire('x')).rejects.toBeInstanceOf(StoreUnavailableError);
});

it('reports a store that does not answer within waitMs as such, and takes back what it may have got', async () => {
  let answer = (): void => {};
  store.after = () => new Promise<void>((resolve) => (answer = resolve));
  await expect(locks.acquire('x', { waitMs: 20 })).rejects.toBeInstanceOf(StoreUnavailableError);
  expect((await locks.inspect('x')).holder).toBeUndefined();
  answer();
});

it('gives up what it may have got when the answer was lost', async () => {
  store.after = outage;
  await expect(locks.tryAcquire('x')).rejects.toBeInstanceOf(StoreUnavailableError);
  expect((await locks.inspect('x')).holder).toBeUndefined();
});

it('gets the same lease when the answer to the first request was lost', async () => {
  store.after = (call) => (call === 1 ? outage() : undefined);
  const lease = await locks.acquire('x');
  expect((await locks.inspect('x')).holder?.fencingToken).toBe(lease.fencingToken);
});

it('does not believe an answer that it reads when the lease is over', async () => {
  // As if the process was stopped between the store's answer and its reading.
  const now = jest.spyOn(performance, 'now');
  store.after = (call) => {
    if (call === 1) now.mockReturnValue(performance.now() + 10_000);
  };
  const lease = await locks.acquire('x', { ttlMs: 5_000, waitMs: 60_000 });
  now.mockRestore();
  expect(store.asked).toHaveLength(2);
  expect(lease.name).toBe('x');
});

it('subscribes once, and only when something has to wait', async () => {
  const held = await locks.acquire('x');
  expect(store.subscriptions).toBe(0);
  const waiting = [locks.acquire('x'), locks.acquire('x')];
  while ((await locks.inspect('x')).waiters.length < 2) await new Promise(setImmediate);
  expect(store.subscriptions).toBe(1);
  await held.release();
  for (const next of waiting) await (await next).release();
});
