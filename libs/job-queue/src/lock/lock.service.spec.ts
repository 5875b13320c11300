import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { InvalidOptionError, StoreUnavailableError } from '../errors/errors.js';
import { LockLostError, LockTimeoutError, StaleFenceError } from '../errors/lock-errors.js';
import type { AcquireReply, AcquireRequest } from '../store/lock-store.js';
import { MemoryLockStore } from '../store/memory/memory-lock-store.js';
import { MemoryLocks } from '../store/memory/memory-locks.js';
import { LeaseRenewer } from './lease-renewer.js';
import { LockService } from './lock.service.js';

const NOTHING = { name: 'x', holder: undefined, waiters: [] };

let store: MemoryLockStore;
let locks: LockService;
beforeEach(() => {
  store = new MemoryLockStore(new MemoryLocks());
  locks = new LockService(store);
});
afterEach(() => locks.close());

/** The first turn of the event loop in which the lock has that many waiters. */
async function waiters(count: number, name = 'x'): Promise<void> {
  while ((await locks.inspect(name)).waiters.length !== count) await new Promise(setImmediate);
}

describe('acquiring', () => {
  it('gives a lease that says whose it is', async () => {
    const before = performance.now();
    const lease = await locks.acquire('x', { ttlMs: 10_000 });
    expect(lease).toMatchObject({ name: 'x', owner: expect.stringContaining(`:${process.pid}:`) });
    expect(lease.signal.aborted).toBe(false);
    expect(lease.deadline - before).toBeGreaterThan(8_000);
    expect(lease.deadline - before).toBeLessThan(10_000);
    const { holder } = await locks.inspect('x');
    expect(holder).toMatchObject({ owner: lease.owner, fencingToken: lease.fencingToken });
    expect(holder?.acquiredAt).toBeInstanceOf(Date);
  });

  it('does not wait in tryAcquire', async () => {
    const lease = await locks.tryAcquire('x', { ttlMs: 10_000 });
    expect(lease?.name).toBe('x');
    await expect(locks.tryAcquire('x')).resolves.toBeUndefined();
    await lease?.release();
    expect(await locks.inspect('x')).toEqual(NOTHING);
  });

  it('does not begin to work with a lease that is over', async () => {
    const hold = LeaseRenewer.prototype.hold;
    jest.spyOn(LeaseRenewer.prototype, 'hold').mockImplementationOnce(function (this: LeaseRenewer, lease) {
      hold.call(this, lease);
      // Somebody else's turn, and it stands still.
      for (const until = performance.now() + lease.ttlMs; performance.now() < until;);
    });
    const work = jest.fn();
    await expect(locks.using('x', { ttlMs: 100 }, work)).rejects.toThrow(LockLostError);
    expect(work).not.toHaveBeenCalled();
    expect(await locks.tryAcquire('x')).toMatchObject({ name: 'x' });
  });

  it('waits for its turn, first come first served, with rising tokens', async () => {
    const first = await locks.acquire('x');
    const order: number[] = [];
    const tokens = [first.fencingToken];
    const waiting = [0, 1, 2].map(async (i) => {
      await using lease = await locks.acquire('x');
      order.push(i);
      tokens.push(lease.fencingToken);
    });
    await waiters(3);
    await first.release();
    await Promise.all(waiting);
    expect(order).toEqual([0, 1, 2]);
    expect(tokens).toEqual(tokens.toSorted((a, b) => a - b));
    expect(await locks.inspect('x')).toEqual(NOTHING);
  });

  it('takes over from a holder that died, when its time is over', async () => {
    await store.acquire({ name: 'x', owner: 'dead', ttlMs: 100, waitMs: 0 });
    const lease = await locks.acquire('x');
    expect((await locks.inspect('x')).holder?.owner).toBe(lease.owner);
  });

  it('gives up after waitMs without a trace', async () => {
    await locks.acquire('x');
    const error = await locks.acquire('x', { waitMs: 30 }).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(LockTimeoutError);
    expect(error).toMatchObject({ code: 'LOCK_TIMEOUT', lockName: 'x', waitMs: 30 });
    expect((await locks.inspect('x')).waiters).toEqual([]);
    await expect(locks.acquire('x', { waitMs: 0 })).rejects.toBeInstanceOf(LockTimeoutError);
  });

  it('gives up when its signal aborts, without a trace', async () => {
    const controller = new AbortController();
    await locks.acquire('x');
    const waiting = locks.acquire('x', { signal: controller.signal });
    await waiters(1);
    controller.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect((await locks.inspect('x')).waiters).toEqual([]);
    await expect(locks.acquire('y', { signal: controller.signal })).rejects.toThrow('enough');
    expect((await locks.inspect('y')).holder).toBeUndefined();
  });

  it('passes on a lock that it was given in the instant it gave up', async () => {
    const controller = new AbortController();
    const held = await locks.acquire('x');
    const waiting = locks.acquire('x', { signal: controller.signal });
    await waiters(1);
    const next = locks.acquire('x');
    await waiters(2);
    const released = held.release();
    controller.abort(new Error('enough'));
    await released;
    await expect(waiting).rejects.toThrow('enough');
    expect((await locks.inspect('x')).holder?.owner).toBe((await next).owner);
  });

  it('leaves a held lock alone when the signal of its acquire aborts', async () => {
    const controller = new AbortController();
    const lease = await locks.acquire('x', { signal: controller.signal });
    controller.abort();
    expect(lease.signal.aborted).toBe(false);
    expect((await locks.inspect('x')).holder?.owner).toBe(lease.owner);
  });
});

describe('using', () => {
  it('holds the lock while the work runs, whatever comes of it', async () => {
    const answer = await locks.using('x', {}, async (lease) => {
      expect((await locks.inspect('x')).holder?.owner).toBe(lease.owner);
      return 42;
    });
    expect(answer).toBe(42);
    const failing = locks.using('x', {}, () => Promise.reject(new Error('broken')));
    await expect(failing).rejects.toThrow('broken');
    expect(await locks.inspect('x')).toEqual(NOTHING);
  });

  it('does not pass off the result of work whose lease was lost', async () => {
    const lost = locks.using('x', { ttlMs: 150 }, async (lease) => {
      await store.abandon('x', lease.owner);
      await once(lease.signal, 'abort');
      return 'ignored the signal';
    });
    await expect(lost).rejects.toBeInstanceOf(LockLostError);
  });
});

describe('a lease', () => {
  it('says false when it is released by a former owner, and changes nothing', async () => {
    const lease = await locks.acquire('x');
    await store.abandon('x', lease.owner);
    const next = await locks.acquire('x');
    expect(await lease.release()).toBe(false);
    expect(await lease.release()).toBe(false);
    expect((await locks.inspect('x')).holder?.fencingToken).toBe(next.fencingToken);
    expect(lease.fencingToken).toBeLessThan(next.fencingToken);
    expect(await next.release()).toBe(true);
    expect(await next.release()).toBe(false);
  });

  it('extends itself on demand', async () => {
    const lease = await locks.acquire('x', { ttlMs: 10_000 });
    const { fencingToken, deadline } = lease;
    await lease.extend();
    expect(lease.deadline).toBeGreaterThan(deadline);
    expect(lease.fencingToken).toBe(fencingToken);
    await store.abandon('x', lease.owner);
    await expect(lease.extend()).rejects.toBeInstanceOf(LockLostError);
    expect(lease.signal.reason).toMatchObject({ code: 'LOCK_LOST', lockName: 'x', fencingToken });
  });

  it('is over when it was released: no extension, no alarm', async () => {
    const lease = await locks.acquire('x');
    await lease.release();
    await expect(lease.extend()).rejects.toThrow('it was released');
    expect(lease.signal.aborted).toBe(false);
  });

  it('can be released again when the store did not answer', async () => {
    const lease = await locks.acquire('x');
    const release = jest.spyOn(store, 'release').mockRejectedValueOnce(new StoreUnavailableError('gone'));
    await expect(lease.release()).rejects.toBeInstanceOf(StoreUnavailableError);
    await expect(lease.release()).resolves.toBe(true);
    release.mockRestore();
  });
});

describe('fenced values', () => {
  it('believe the latest holder only', async () => {
    const stale = await locks.acquire('x');
    await stale.release();
    const current = await locks.acquire('x');
    await locks.fencedSet('report', 'new', current);
    const refused = await locks.fencedSet('report', 'old', stale).catch((thrown: unknown) => thrown);
    expect(refused).toBeInstanceOf(StaleFenceError);
    expect(refused).toMatchObject({ target: 'report', currentToken: current.fencingToken });
    const { owner, fencingToken } = current;
    expect(await locks.fencedGet('report')).toEqual({ value: 'new', owner, fencingToken });
    expect(await locks.fencedGet('other')).toBeUndefined();
  });
});

describe('closing', () => {
  it('tells holders and waiters to stop, and leaves nothing behind', async () => {
    const held = await locks.acquire('x');
    const stopped = locks.acquire('x').catch((thrown: unknown) => thrown);
    await waiters(1);
    await locks.close();
    expect(await stopped).toMatchObject({ message: expect.stringContaining('shutting down') });
    expect(held.signal.reason).toBeInstanceOf(LockLostError);
    expect(await store.inspect('x')).toEqual({ holder: undefined, waiters: [] });
    await expect(locks.acquire('x')).rejects.toBeInstanceOf(StoreUnavailableError);
  });

  it('gives back a lock that is granted while it closes', async () => {
    class Slow extends MemoryLockStore {
      answer: () => void = () => {};
      override async acquire(request: AcquireRequest): Promise<AcquireReply> {
        const reply = await super.acquire(request);
        await new Promise<void>((resolve) => (this.answer = resolve));
        return reply;
      }
    }
    const slow = new Slow(new MemoryLocks());
    const service = new LockService(slow);
    const refused = service.tryAcquire('x').catch((thrown: unknown) => thrown);
    const closing = service.close();
    await Promise.resolve();
    slow.answer();
    await closing;
    expect(await refused).toBeInstanceOf(StoreUnavailableError);
    expect((await slow.inspect('x')).holder).toBeUndefined();
  });
});

describe('arguments', () => {
  it.each([
    ['name', '', {}],
    ['name', 'x'.repeat(257), {}],
    ['name', '\ud800', {}],
    ['ttlMs', 'x', { ttlMs: 99 }],
    ['ttlMs', 'x', { ttlMs: 1.5 }],
    ['ttlMs', 'x', { ttlMs: Number.NaN }],
    ['waitMs', 'x', { waitMs: -1 }],
    ['waitMs', 'x', { waitMs: 2 ** 31 }],
  ])('names %s', async (field, name, options) => {
    const error = await locks.acquire(name, options).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error).toMatchObject({ field });
    await expect(locks.using(name, options, () => 1)).rejects.toMatchObject({ field });
  });

  it('suggests what a misspelt option may have meant', async () => {
    const misspelt: object = { ttl: 1_000 };
    await expect(locks.acquire('x', misspelt)).rejects.toThrow('did you mean ttlMs?');
    const pointless: object = { waitMs: 1_000 };
    await expect(locks.tryAcquire('x', pointless)).rejects.toThrow('waitMs: is not an option here');
  });
});
