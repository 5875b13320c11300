/**
 * The acquires of this process that wait for a lock. Each asks the store, stands in line there, and asks again
 * when the store says that its turn has come, when the holder's time is up, or when messages may have been lost.
 */
import { hostname } from 'node:os';
import { StoreUnavailableError } from '../errors/errors.js';
import { LockTimeoutError } from '../errors/lock-errors.js';
import { nextDelayMs } from '../job/backoff.js';
import { newJobId } from '../job/job-id.js';
import { INTERNAL } from '../options/defaults.js';
import type { ResolvedLockOptions } from '../options/lock-options.js';
import type { LockListener, LockStore } from '../store/lock-store.js';
import { leaseDeadline, type LeaseGrant } from './lease.js';
import { Pause } from './pause.js';

export class WaitingLine implements LockListener {
  private readonly waiting = new Map<string, Pause>();
  private readonly underWay = new Set<Promise<unknown>>();
  private subscribed = false;

  constructor(private readonly store: LockStore) {}

  /**
   * Answers with a grant, or `undefined` when the lock is taken and `waitMs` is 0.
   * @throws LockTimeoutError, or what ended the waiting: the reason of `signal`, the store's error
   */
  async acquire(name: string, options: ResolvedLockOptions): Promise<LeaseGrant | undefined> {
    options.signal?.throwIfAborted();
    const acquiring = this.acquireAs(`${hostname()}:${process.pid}:${newJobId()}`, name, options);
    this.underWay.add(acquiring);
    try {
      return await acquiring;
    } finally {
      this.underWay.delete(acquiring);
    }
  }

  granted(owner: string): void {
    this.waiting.get(owner)?.wake();
  }

  resumed(): void {
    for (const pause of this.waiting.values()) pause.wake();
  }

  /** Ends all waiting and resolves when nobody stands in line any more. */
  async close(reason: unknown): Promise<void> {
    for (const pause of this.waiting.values()) pause.end(reason);
    await Promise.allSettled(this.underWay);
  }

  private async acquireAs(
    owner: string,
    name: string,
    options: ResolvedLockOptions,
  ): Promise<LeaseGrant | undefined> {
    const pause = new Pause(options.signal);
    this.waiting.set(owner, pause);
    let answer: LeaseGrant | 'taken' | undefined;
    try {
      answer = await this.wait(name, owner, options, pause);
      return answer === 'taken' ? undefined : answer;
    } finally {
      this.waiting.delete(owner);
      pause.dispose();
      if (!answer) await this.abandon(name, owner);
    }
  }

  private async wait(
    name: string,
    owner: string,
    { ttlMs, waitMs, signal }: ResolvedLockOptions,
    pause: Pause,
  ): Promise<LeaseGrant | 'taken' | undefined> {
    const deadline = performance.now() + waitMs;
    let outage: unknown = new StoreUnavailableError(`it did not answer within the waitMs of ${waitMs}`);
    for (let failures = 0; ;) {
      const sentAt = performance.now();
      const leftMs = Math.max(0, deadline - sentAt);
      let delayMs = 0;
      try {
        const asked = this.store.acquire({ name, owner, ttlMs, waitMs: leftMs });
        const reply = waitMs === 0 ? await asked : await pause.race(asked, leftMs);
        // Whoever gave up while the answer was on its way does not expect a lease any more.
        signal?.throwIfAborted();
        failures = 0;
        if (reply) outage = undefined;
        if (reply?.granted) {
          const grant = { name, owner, token: reply.token, ttlMs, sentAt };
          // A process that was stopped may read the reply when the lease is long over. Then it asks again.
          if (performance.now() < leaseDeadline(grant)) return grant;
          if (waitMs === 0) return undefined;
        } else if (waitMs === 0) {
          return 'taken';
        } else if (reply) {
          this.subscribe();
          delayMs = reply.recheckMs;
        }
      } catch (error) {
        // An outage is waited out like any other holder.
        if (waitMs === 0 || !(error instanceof StoreUnavailableError)) throw error;
        outage = error;
        failures += 1;
        delayMs = nextDelayMs(INTERNAL.storeRetry, failures) + 1;
      }
      const rest = deadline - performance.now();
      if (rest > 0) await pause.wait(Math.min(delayMs, rest));
      if (performance.now() >= deadline) throw outage ?? new LockTimeoutError(name, waitMs);
    }
  }

  /** Not before something has to wait: most processes never need the extra connection. */
  private subscribe(): void {
    if (this.subscribed) return;
    this.subscribed = true;
    // Whoever stood in line before it was heard was passed over meanwhile.
    void this.store.subscribe(this).then(() => this.resumed());
  }

  /** Waits for its entry to be gone, but not for ever: an entry that stays is dropped by its deadline. */
  private async abandon(name: string, owner: string): Promise<void> {
    const pause = new Pause();
    const gone = this.store.abandon(name, owner).catch(() => {});
    await pause.race(gone, INTERNAL.lockGiveUpMs);
    pause.dispose();
  }
}
