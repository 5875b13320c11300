/** Locks across processes: one holder at a time, first come first served, each lease with a fencing token. */
import { StoreUnavailableError } from '../errors/errors.js';
import { LockTimeoutError, StaleFenceError } from '../errors/lock-errors.js';
import type { FencingToken } from '../job/job.js';
import {
  checkLockName,
  resolveLockOptions,
  resolveTryAcquireOptions,
  type LockOptions,
  type ResolvedLockOptions,
  type TryAcquireOptions,
} from '../options/lock-options.js';
import type { LockStore } from '../store/lock-store.js';
import { HeldLease, type Lease } from './lease.js';
import { LeaseRenewer } from './lease-renewer.js';
import { WaitingLine } from './waiting-line.js';

export interface LockView {
  readonly name: string;
  readonly holder: LockHolder | undefined;
  /** Owners that wait, first in line first; at most 1,000. */
  readonly waiters: readonly string[];
}

export interface LockHolder {
  readonly owner: string;
  readonly fencingToken: FencingToken;
  /** ms until it expires unless it is renewed. */
  readonly leftMs: number;
  readonly acquiredAt: Date;
}

export interface FencedEntry {
  readonly value: string;
  readonly fencingToken: FencingToken;
  readonly owner: string;
}

export class LockService {
  private readonly renewer: LeaseRenewer;
  private readonly line: WaitingLine;
  private closed = false;

  constructor(private readonly store: LockStore) {
    this.renewer = new LeaseRenewer(store);
    this.line = new WaitingLine(store);
  }

  /**
   * Waits for the lock, at most `waitMs`. The lease renews itself until it is released.
   * @throws LockTimeoutError when it was not free in time
   * @throws StoreUnavailableError when the store did not answer in time
   * @throws the reason of `signal` when that aborted
   */
  async acquire(name: string, options?: LockOptions): Promise<Lease> {
    return this.acquireLease(name, options);
  }

  /** The lease, or `undefined` when somebody else holds the lock or is first in line. */
  async tryAcquire(name: string, options?: TryAcquireOptions): Promise<Lease | undefined> {
    checkLockName('name', name);
    return this.take(name, resolveTryAcquireOptions(options));
  }

  /**
   * Runs `work` while holding the lock and releases it afterwards, whatever happened.
   * @throws what `acquire` and `work` throw
   * @throws LockLostError when the lease was lost while `work` ran: what it returned is dropped, since another
   *   holder may have done the same meanwhile; or before that, and then `work` is not called
   */
  async using<T>(name: string, options: LockOptions, work: (lease: Lease) => Promise<T> | T): Promise<T> {
    const lease = await this.acquireLease(name, options);
    try {
      // Between the grant and here others had their turn, one of whom may have blocked the event loop.
      lease.signal.throwIfAborted();
      const result = await work(lease);
      lease.signal.throwIfAborted();
      return result;
    } finally {
      await lease[Symbol.asyncDispose]();
    }
  }

  /** Who holds the lock and who waits for it. A picture of a moment: never decide by it whether to work. */
  async inspect(name: string): Promise<LockView> {
    checkLockName('name', name);
    const { holder, waiters } = await this.store.inspect(name);
    return {
      name,
      holder: holder && {
        owner: holder.owner,
        fencingToken: holder.token,
        leftMs: holder.leftMs,
        acquiredAt: new Date(holder.acquiredAt),
      },
      waiters,
    };
  }

  /**
   * Writes a value that no earlier holder can overwrite, wherever it is stuck.
   * @throws StaleFenceError when the key has seen a later lease; nothing was changed
   */
  async fencedSet(key: string, value: string, lease: Pick<Lease, 'owner' | 'fencingToken'>): Promise<void> {
    checkLockName('key', key);
    const { owner, fencingToken } = lease;
    const reply = await this.store.fencedSet(key, value, { owner, token: fencingToken });
    if (!reply.written) throw new StaleFenceError(key, fencingToken, reply.current);
  }

  /** What `fencedSet` wrote last. */
  async fencedGet(key: string): Promise<FencedEntry | undefined> {
    checkLockName('key', key);
    const stored = await this.store.fencedGet(key);
    return stored && { value: stored.value, fencingToken: stored.token, owner: stored.owner };
  }

  /** Ends all waiting, tells the holders of leases to stop, and gives their locks back. */
  async close(): Promise<void> {
    this.closed = true;
    const leases = this.renewer.leases;
    for (const lease of leases) lease.lose('the application is shutting down');
    await Promise.all([
      this.line.close(shuttingDown()),
      ...leases.map((lease) => lease[Symbol.asyncDispose]()),
    ]);
    await this.store.close();
  }

  private async acquireLease(name: string, options: LockOptions | undefined): Promise<HeldLease> {
    checkLockName('name', name);
    const resolved = resolveLockOptions(options);
    const lease = await this.take(name, resolved);
    if (!lease) throw new LockTimeoutError(name, resolved.waitMs);
    return lease;
  }

  private async take(name: string, options: ResolvedLockOptions): Promise<HeldLease | undefined> {
    if (this.closed) throw shuttingDown();
    const grant = await this.line.acquire(name, options);
    if (!grant) return undefined;
    const lease = new HeldLease(grant, {
      renewNow: (held) => this.renewer.renew([held]),
      release: ({ owner, fencingToken }) => {
        this.renewer.letGo(lease);
        return this.store.release({ name, owner, token: fencingToken });
      },
    });
    if (this.closed) {
      await lease[Symbol.asyncDispose]();
      throw shuttingDown();
    }
    this.renewer.hold(lease);
    return lease;
  }
}

function shuttingDown(): StoreUnavailableError {
  return new StoreUnavailableError('the application is shutting down');
}
