/**
 * The port between the lock service and its storage. Two implementations, `redis` and `memory`, must answer
 * alike; the contract suite holds them to it. Every state change is one atomic step. Times are durations in
 * ms by the store's own clock, so that no process's clock matters.
 */
import type { FencingToken } from '../job/job.js';

/** Whoever wants or has a lock. Never used for two leases, so it names the lease too. */
export type LockOwner = string;

export interface AcquireRequest {
  readonly name: string;
  readonly owner: LockOwner;
  readonly ttlMs: number;
  /** How long the owner is ready to wait from now on. 0: it does not stand in line. */
  readonly waitMs: number;
}

/**
 * `granted`: the owner holds the lock for `ttlMs` from now, also if it was granted earlier and this call only
 * takes it up. Otherwise somebody else holds it; with a `waitMs` the owner stands in line, in its old place if it
 * stood there already, and must ask again after `recheckMs` at the latest, or it counts as dead.
 */
export type AcquireReply =
  | { readonly granted: true; readonly token: FencingToken }
  | { readonly granted: false; readonly recheckMs: number };

export interface HeldLock {
  readonly name: string;
  readonly owner: LockOwner;
  readonly token: FencingToken;
}

export interface LockRenewal extends HeldLock {
  /** From now on. */
  readonly ttlMs: number;
}

export interface LockState {
  readonly holder:
    | {
        readonly owner: LockOwner;
        readonly token: FencingToken;
        /** ms until it expires unless it is renewed. */
        readonly leftMs: number;
        /** Store time in ms. */
        readonly acquiredAt: number;
      }
    | undefined;
  /** Those that wait, first in line first; at most `INTERNAL.lockInspectLimit`. */
  readonly waiters: readonly LockOwner[];
}

export interface FencedValue {
  readonly value: string;
  /** Token and owner of the last accepted write. */
  readonly token: FencingToken;
  readonly owner: LockOwner;
}

/** `written: false`: the target has seen `current`, which is higher or another owner's; nothing was changed. */
export type FencedSetReply =
  { readonly written: true } | { readonly written: false; readonly current: FencingToken };

export interface LockListener {
  /**
   * The waiter was given its lock. It takes it up by calling `acquire` again, soon: an idle grant expires. One grant
   * may be heard several times.
   */
  granted(owner: LockOwner): void;
  /** Grants may have gone unheard for a while: every waiter should ask again. */
  resumed(): void;
}

export interface LockStore {
  /**
   * Takes a free lock, takes up a granted one, or stands in line: first come, first served. A free lock goes to
   * the first live waiter, never to a newcomer. Calling it again with the same owner is always safe.
   *
   * The token is higher than every earlier one of the lock, even if all its keys were deleted meanwhile.
   */
  acquire(request: AcquireRequest): Promise<AcquireReply>;

  /** Prolongs all these leases in one round trip. Returns the owners whose lease is lost. */
  renew(leases: readonly LockRenewal[]): Promise<readonly LockOwner[]>;

  /**
   * Ends a lease; the lock goes to the first live waiter, whose process hears of it.
   * Returns `false`, and changes nothing, when the lease was not the caller's (any more).
   */
  release(lease: HeldLock): Promise<boolean>;

  /** A waiter gives up. It leaves no trace, and a lock that it was given in the same instant is passed on. */
  abandon(name: string, owner: LockOwner): Promise<void>;

  inspect(name: string): Promise<LockState>;

  /** Writes `value` unless the key has seen a higher token, or the same token from another owner. */
  fencedSet(key: string, value: string, lease: Omit<HeldLock, 'name'>): Promise<FencedSetReply>;

  fencedGet(key: string): Promise<FencedValue | undefined>;

  /**
   * Makes the listener hear of the grants to waiters of this process. Until it does, they are passed over: a
   * lock is never given to somebody who cannot know. Resolves when grants reach it; a later interruption ends in
   * `resumed`. There is one listener.
   */
  subscribe(listener: LockListener): Promise<void>;

  /** Ends the subscription. */
  close(): Promise<void>;
}
