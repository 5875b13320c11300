/** A lease on a lock: what its holder gets, and how it learns that it is over. */
import { LockLostError } from '../errors/lock-errors.js';
import type { FencingToken } from '../job/job.js';
import { INTERNAL } from '../options/defaults.js';

/** The right to do what the lock protects. It renews itself until it is released or lost. */
export interface Lease {
  /** The lock's. */
  readonly name: string;
  /** Unique to this lease: `<host>:<pid>:<id>`. */
  readonly owner: string;
  /** Higher than that of every earlier lease on this lock. It never changes: give it to every write. */
  readonly fencingToken: FencingToken;
  /**
   * Aborts with a `LockLostError` as soon as another may hold the lock: at the latest at `deadline`, even while
   * the store is unreachable.
   */
  readonly signal: AbortSignal;
  /** Until when it is certainly held unless it is renewed, on this process's monotonic clock: `performance.now()`. */
  readonly deadline: number;
  /**
   * Renews it now, for its full ttl. Worth it right before a step that blocks the event loop; else it happens by itself.
   * @throws LockLostError when the lease is lost or released
   * @throws StoreUnavailableError when it could not be renewed now; it is still held until `deadline`
   */
  extend(): Promise<void>;
  /**
   * Gives the lock to the next waiter. `false`: the lease was not held any more, and nothing was changed.
   * @throws StoreUnavailableError when the store did not answer; the lock is then free when its ttl is over
   */
  release(): Promise<boolean>;
  /** Releases it; never throws. For `await using lease = …`. */
  [Symbol.asyncDispose](): Promise<void>;
}

export interface LeaseGrant {
  readonly name: string;
  readonly owner: string;
  readonly token: FencingToken;
  readonly ttlMs: number;
  /** performance.now() before the request was sent that granted or last renewed it. */
  readonly sentAt: number;
}

/** The local end of a lease, before the store's own: for clock drift. */
export function leaseDeadline({ sentAt, ttlMs }: Pick<LeaseGrant, 'sentAt' | 'ttlMs'>): number {
  return sentAt + ttlMs * (1 - INTERNAL.leaseMarginRatio);
}

/** What a lease needs of those who made it. */
export interface LeaseKeeping {
  renewNow(lease: HeldLease): Promise<void>;
  release(lease: HeldLease): Promise<boolean>;
}

export class HeldLease implements Lease {
  readonly name: string;
  readonly owner: string;
  readonly fencingToken: FencingToken;
  readonly ttlMs: number;
  /** Time between two renewals. */
  readonly interval: number;
  /** When the renewer shall renew it next; performance.now(). */
  renewAt = 0;

  private readonly controller = new AbortController();
  private localDeadline = 0;
  private watch: NodeJS.Timeout | undefined;
  private state: 'held' | 'lost' | 'releasing' | 'released' = 'held';

  constructor(
    grant: LeaseGrant,
    private readonly keeping: LeaseKeeping,
  ) {
    this.name = grant.name;
    this.owner = grant.owner;
    this.fencingToken = grant.token;
    this.ttlMs = grant.ttlMs;
    this.interval = grant.ttlMs / INTERNAL.heartbeatsPerLease;
    this.renewing(grant.sentAt);
    this.renewed(grant.sentAt);
  }

  get deadline(): number {
    return this.localDeadline;
  }

  get signal(): AbortSignal {
    this.noticeExpiry();
    return this.controller.signal;
  }

  /** Neither lost nor given back. */
  get isHeld(): boolean {
    return this.state === 'held';
  }

  async extend(): Promise<void> {
    this.throwIfOver();
    await this.keeping.renewNow(this);
    this.throwIfOver();
  }

  async release(): Promise<boolean> {
    if (this.state === 'released') return false;
    // A lease that was lost here may still stand in the store, and others wait for it.
    if (this.state === 'held') {
      this.state = 'releasing';
      this.watchDeadline();
    }
    const released = await this.keeping.release(this);
    clearTimeout(this.watch);
    this.state = 'released';
    return released;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Whatever the block did is done; a lock that cannot be given back is free when its ttl is over.
    await this.release().catch(() => {});
  }

  /** A renewal is being sent. The next one is due whether or not this one is ever answered. */
  renewing(sentAt: number): void {
    this.renewAt = sentAt + this.interval;
  }

  /** The store granted the full ttl to a request that was sent then. */
  renewed(sentAt: number): void {
    this.localDeadline = Math.max(this.localDeadline, leaseDeadline({ sentAt, ttlMs: this.ttlMs }));
  }

  /** Fires the signal. */
  lose(why: string): void {
    if (this.state === 'held') this.abort(why);
  }

  /** An event loop that was blocked may come here before the renewer's timer. */
  noticeExpiry(now = performance.now()): void {
    if (now < this.localDeadline) return;
    // One that could not be given back is over when its time is, like any other.
    if (this.state === 'held' || this.state === 'releasing') this.abort('it was not renewed in time');
  }

  /** The renewer has let it go. Looks again when it fires: a renewal may have been under way. */
  private watchDeadline(): void {
    const delayMs = Math.max(0, Math.ceil(this.localDeadline - performance.now()));
    this.watch = setTimeout(() => {
      this.noticeExpiry();
      if (this.state === 'releasing') this.watchDeadline();
    }, delayMs).unref();
  }

  private abort(why: string): void {
    clearTimeout(this.watch);
    this.state = 'lost';
    this.controller.abort(new LockLostError(this.name, this.fencingToken, why));
  }

  private throwIfOver(): void {
    this.signal.throwIfAborted();
    if (this.state !== 'held') throw new LockLostError(this.name, this.fencingToken, 'it was released');
  }
}
