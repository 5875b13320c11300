/**
 * The lock store in this process's memory: the default without a connection, what unit tests run on, and the
 * executable specification of the port. Every method does its work synchronously, so it is atomic.
 */
import { INTERNAL } from '../../options/defaults.js';
import type {
  AcquireReply,
  AcquireRequest,
  FencedSetReply,
  FencedValue,
  HeldLock,
  LockListener,
  LockRenewal,
  LockState,
  LockStore,
} from '../lock-store.js';
import type { MemoryLock, MemoryLocks } from './memory-locks.js';

const { lockRecheckMs, lockRecheckStepMs, lockWaiterGraceMs, lockInspectLimit } = INTERNAL;

export class MemoryLockStore implements LockStore {
  private listener: LockListener | undefined;
  /** How the locks reach the waiters of this store; answers whether anybody listens. */
  private readonly tell = (owner: string): boolean => {
    this.listener?.granted(owner);
    return this.listener !== undefined;
  };

  /** @param locks stores that share them act like processes that share a Redis */
  constructor(private readonly locks: MemoryLocks) {}

  async acquire({ name, owner, ttlMs, waitMs }: AcquireRequest): Promise<AcquireReply> {
    const lock = this.locks.get(name);
    const now = this.locks.now();
    const holder = lock.holderAt(now);
    if (holder?.owner === owner) {
      holder.expiresAt = now + ttlMs;
      return { granted: true, token: holder.token };
    }
    if (!holder && this.locks.grantFirstLive(lock, { owner, ttlMs })) {
      return { granted: true, token: this.locks.lastToken };
    }
    if (waitMs === 0) return { granted: false, recheckMs: 0 };
    return { granted: false, recheckMs: this.standInLine(lock, owner, ttlMs, waitMs) };
  }

  private standInLine(lock: MemoryLock, owner: string, ttlMs: number, waitMs: number): number {
    const now = this.locks.now();
    if (lock.lineEndsAt <= now) lock.waiters.clear();
    lock.lineEndsAt = now + lockRecheckMs + lockWaiterGraceMs;
    // A Map keeps the place of a key that is set again.
    const place = lock.waiters.has(owner) ? [...lock.waiters.keys()].indexOf(owner) : lock.waiters.size;
    const leftMs = Math.max(1, (lock.holder?.expiresAt ?? 0) - now);
    // The first in line asks when the holder's time is up, the second a little later, and so on.
    const recheckMs = Math.min(leftMs + 1 + lockRecheckStepMs * place, lockRecheckMs);
    const deadline = now + Math.min(waitMs, recheckMs + lockWaiterGraceMs);
    lock.waiters.set(owner, { owner, ttlMs, deadline, tell: this.tell });
    return recheckMs;
  }

  async renew(leases: readonly LockRenewal[]): Promise<readonly string[]> {
    const now = this.locks.now();
    const lost: string[] = [];
    for (const { name, owner, token, ttlMs } of leases) {
      const holder = this.locks.find(name)?.holderAt(now);
      if (holder?.owner === owner && holder.token === token) holder.expiresAt = now + ttlMs;
      else lost.push(owner);
    }
    return lost;
  }

  async release({ name, owner, token }: HeldLock): Promise<boolean> {
    const lock = this.locks.find(name);
    const holder = lock?.holderAt(this.locks.now());
    if (!lock || holder?.owner !== owner || holder.token !== token) return false;
    this.locks.passOn(lock);
    return true;
  }

  async abandon(name: string, owner: string): Promise<void> {
    const lock = this.locks.find(name);
    if (!lock) return;
    lock.waiters.delete(owner);
    if (lock.holderAt(this.locks.now())?.owner === owner) this.locks.passOn(lock);
  }

  async inspect(name: string): Promise<LockState> {
    const lock = this.locks.find(name);
    const now = this.locks.now();
    const holder = lock?.holderAt(now);
    const waiters = [...(lock?.waiters.values() ?? [])].slice(0, lockInspectLimit);
    return {
      holder: holder && {
        owner: holder.owner,
        token: holder.token,
        leftMs: holder.expiresAt - now,
        acquiredAt: holder.acquiredAt,
      },
      waiters: waiters.filter(({ deadline }) => deadline > now).map(({ owner }) => owner),
    };
  }

  async fencedSet(key: string, value: string, lease: Omit<HeldLock, 'name'>): Promise<FencedSetReply> {
    const { token, owner } = lease;
    const current = this.locks.fencedValues.get(key);
    if (current && (current.token > token || (current.token === token && current.owner !== owner))) {
      return { written: false, current: current.token };
    }
    this.locks.fencedValues.set(key, { value, token, owner });
    return { written: true };
  }

  async fencedGet(key: string): Promise<FencedValue | undefined> {
    return this.locks.fencedValues.get(key);
  }

  async subscribe(listener: LockListener): Promise<void> {
    this.listener = listener;
  }

  async close(): Promise<void> {
    this.listener = undefined;
  }
}
