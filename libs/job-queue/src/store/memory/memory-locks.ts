/** What the memory lock stores of one "server" share: the locks with their lines, and the fenced values. */
import type { FencingToken } from '../../job/job.js';
import { INTERNAL } from '../../options/defaults.js';
import type { FencedValue, LockOwner } from '../lock-store.js';

interface Holder {
  readonly owner: LockOwner;
  readonly token: FencingToken;
  readonly acquiredAt: number;
  expiresAt: number;
}

interface Waiter {
  readonly owner: LockOwner;
  readonly ttlMs: number;
  /** When it counts as dead unless it has asked again. */
  readonly deadline: number;
  /** Tells its process that it got the lock. `false`: nobody listens there. */
  readonly tell: (owner: LockOwner) => boolean;
}

export class MemoryLock {
  holder: Holder | undefined;
  /** First in line first. */
  readonly waiters = new Map<LockOwner, Waiter>();
  /** No waiter's deadline is later. */
  lineEndsAt = 0;

  constructor(readonly name: string) {}

  holderAt(now: number): Holder | undefined {
    return this.holder && this.holder.expiresAt > now ? this.holder : undefined;
  }

  isUnusedAt(now: number): boolean {
    return !this.holderAt(now) && ![...this.waiters.values()].some(({ deadline }) => deadline > now);
  }
}

export class MemoryLocks {
  readonly fencedValues = new Map<string, FencedValue>();
  private readonly locks = new Map<string, MemoryLock>();
  /** One counter for all locks, so that nothing need be remembered of an unused one. */
  private token: FencingToken = 0;
  private sizeAfterSweep = 0;

  /** @param now the time in ms */
  constructor(readonly now: () => number = Date.now) {}

  get lastToken(): FencingToken {
    return this.token;
  }

  /** Forgets everything but the last token, which in Redis the time makes up for. */
  clear(): void {
    this.locks.clear();
    this.fencedValues.clear();
  }

  find(name: string): MemoryLock | undefined {
    return this.locks.get(name);
  }

  get(name: string): MemoryLock {
    this.sweep();
    const lock = this.locks.get(name) ?? new MemoryLock(name);
    this.locks.set(name, lock);
    return lock;
  }

  /** The holder is done. */
  passOn(lock: MemoryLock): void {
    lock.holder = undefined;
    this.grantFirstLive(lock, undefined);
    if (!lock.holder && lock.waiters.size === 0) this.locks.delete(lock.name);
  }

  /**
   * Gives a free lock to the first waiter that lives; `caller` asks for it right now, so it lives, in the line or
   * behind it. A waiter whose process does not listen is passed over and keeps its place until its deadline.
   * Returns whether the caller got it.
   */
  grantFirstLive(
    lock: MemoryLock,
    caller: { readonly owner: LockOwner; readonly ttlMs: number } | undefined,
  ): boolean {
    for (const waiter of lock.waiters.values()) {
      if (waiter.owner === caller?.owner) break;
      if (waiter.deadline <= this.now()) {
        lock.waiters.delete(waiter.owner);
      } else if (waiter.tell(waiter.owner)) {
        this.hold(lock, waiter.owner, Math.min(waiter.ttlMs, INTERNAL.lockTakeUpMs));
        return false;
      }
    }
    if (caller) this.hold(lock, caller.owner, caller.ttlMs);
    return caller !== undefined;
  }

  /**
   * Drops what expired and nobody gave back. Looks at all locks only when they have doubled, so that each `get` pays
   * for a few of them.
   */
  private sweep(): void {
    if (this.locks.size < 2 * this.sizeAfterSweep + INTERNAL.memorySweepMinimum) return;
    const now = this.now();
    for (const [name, lock] of this.locks) if (lock.isUnusedAt(now)) this.locks.delete(name);
    this.sizeAfterSweep = this.locks.size;
  }

  private hold(lock: MemoryLock, owner: LockOwner, ttlMs: number): void {
    const now = this.now();
    this.token = Math.max(this.token + 1, now * 1_000);
    lock.waiters.delete(owner);
    lock.holder = { owner, token: this.token, acquiredAt: now, expiresAt: now + ttlMs };
  }
}
