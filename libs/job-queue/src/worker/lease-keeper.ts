/**
 * Keeps the leases of a worker alive and knows when one is over: the heartbeat renews them all in one call,
 * and one timer watches the earliest local deadline, so that a handler hears of a lost lease even while the
 * store is unreachable or the renewal hangs.
 */
import { JobCancelledError, JobTimeoutError, LeaseLostError } from '../errors/attempt-errors.js';
import type { JobEvents } from '../events/job-events.js';
import { INTERNAL } from '../options/defaults.js';
import type { ResolvedQueueOptions } from '../options/resolve-options.js';
import type { JobStore, WorkerInfo } from '../store/job-store.js';
import type { AbortReason, Attempt } from './attempt.js';

export interface LeaseKeeperHooks {
  /** The handler did not return within its grace. */
  readonly onRunaway: (attempt: Attempt) => void;
}

export class LeaseKeeper {
  private readonly held = new Set<Attempt>();
  private heartbeat: NodeJS.Timeout | undefined;
  private watch: NodeJS.Timeout | undefined;
  private watchAt = Infinity;

  constructor(
    private readonly store: JobStore,
    private readonly queue: ResolvedQueueOptions,
    private readonly info: WorkerInfo,
    private readonly events: JobEvents,
    private readonly hooks: LeaseKeeperHooks,
  ) {}

  /**
   * Puts the worker on record, which it must be before it claims, and starts the heartbeat.
   * @throws what the store throws; call it again then.
   */
  async start(): Promise<void> {
    await this.store.renew(this.info, [], this.queue.leaseMs);
    const intervalMs = Math.max(1, Math.floor(this.queue.leaseMs / INTERNAL.heartbeatsPerLease));
    // Not chained: a renewal that hangs must not keep the next one from being tried.
    this.heartbeat = setInterval(() => void this.beat(), intervalMs);
  }

  stop(): void {
    clearInterval(this.heartbeat);
    clearTimeout(this.watch);
    this.watchAt = Infinity;
    this.held.clear();
  }

  /** The local deadline of a lease that was granted by a request sent at `sentAt`. */
  deadlineFrom(sentAt: number): number {
    return sentAt + this.queue.leaseMs * (1 - INTERNAL.leaseMarginRatio);
  }

  hold(attempt: Attempt): void {
    this.held.add(attempt);
    this.watchUntil(attempt.nextDeadline);
  }

  /** Its outcome was accepted or refused, or there is none. */
  letGo(attempt: Attempt): void {
    this.held.delete(attempt);
  }

  watchTimeout(attempt: Attempt, timeoutMs: number): void {
    if (timeoutMs === 0 || attempt.abortReason) return;
    attempt.timeoutMs = timeoutMs;
    attempt.timeoutAt = performance.now() + timeoutMs;
    this.watchUntil(attempt.timeoutAt);
  }

  /** Fires the signal; the handler has `abortGraceMs` to return. */
  abort(attempt: Attempt, reason: AbortReason, graceMs = this.queue.abortGraceMs): void {
    attempt.abort(reason, performance.now() + graceMs);
    this.watchUntil(attempt.graceEndsAt);
  }

  /** Checks the local deadline: an event loop that was blocked may run a handler's end before the timer. */
  noticeExpiry(attempt: Attempt, now: number): void {
    if (now >= attempt.leaseDeadline) this.lose(attempt, 'it was not renewed in time');
  }

  private lose(attempt: Attempt, why: string): void {
    if (attempt.isLost) return;
    attempt.isLost = true;
    attempt.leaseDeadline = Infinity;
    this.events.emit('lost', { ...attempt.ref(), reason: why });
    this.abort(attempt, new LeaseLostError(attempt.jobId, attempt.token, why));
  }

  private async beat(): Promise<void> {
    this.sweep();
    const listed = new Map<string, Attempt>();
    for (const attempt of this.held) {
      // One that was lost is not renewed: its handler was told to stop, the job must go to someone else.
      if (!attempt.isLost) listed.set(attempt.jobId, attempt);
    }
    const leases = [...listed.values()].map(({ jobId, token }) => ({ jobId, token }));
    const sentAt = performance.now();
    try {
      const {
        lost,
        cancelRequested,
        unanswered = [],
      } = await this.store.renew(this.info, leases, this.queue.leaseMs);
      for (const jobId of unanswered) listed.delete(jobId);
      this.extend(listed, lost, this.deadlineFrom(sentAt));
      for (const jobId of cancelRequested) {
        const attempt = listed.get(jobId);
        if (attempt && !attempt.hasEnded) this.abort(attempt, new JobCancelledError(jobId));
      }
      if (leases.length > 0 && this.events.has('renewed')) {
        const { name: queue } = this.queue;
        this.events.emit('renewed', {
          queue,
          workerId: this.info.workerId,
          leases: leases.length - lost.length - unanswered.length,
        });
      }
    } catch {
      // The local deadlines decide what this means for the handlers; the claim loop reports the outage.
    }
  }

  private extend(listed: Map<string, Attempt>, lost: readonly string[], deadline: number): void {
    for (const jobId of lost) {
      const attempt = listed.get(jobId);
      listed.delete(jobId);
      // One that ended meanwhile is not lost: its own settlement got there first.
      if (attempt && !attempt.hasEnded)
        this.lose(attempt, 'the store gave it to someone else or ended the job');
    }
    for (const attempt of listed.values()) {
      if (!attempt.isLost) {
        attempt.leaseDeadline = Math.max(attempt.leaseDeadline, deadline);
      }
    }
  }

  /** Re-arms the one timer only when something is due earlier than what it waits for. */
  private watchUntil(deadline: number): void {
    if (deadline >= this.watchAt) return;
    clearTimeout(this.watch);
    this.watchAt = deadline;
    const delayMs = Math.max(0, Math.ceil(deadline - performance.now()));
    this.watch = setTimeout(() => {
      this.watchAt = Infinity;
      this.sweep();
    }, delayMs);
  }

  private sweep(): void {
    const now = performance.now();
    let next = Infinity;
    for (const attempt of this.held) {
      if (!attempt.hasEnded) {
        this.noticeExpiry(attempt, now);
        if (now >= attempt.timeoutAt) {
          this.abort(attempt, new JobTimeoutError(attempt.jobId, attempt.timeoutMs));
        } else if (now >= attempt.graceEndsAt) {
          this.hooks.onRunaway(attempt);
        }
        if (!attempt.hasEnded) next = Math.min(next, attempt.nextDeadline);
      }
    }
    if (next < Infinity) this.watchUntil(next);
  }
}
