/** One run of a handler, from its claim to its settlement: the one object per job that the worker keeps. */
import type { FencelineError } from '../errors/errors.js';
import type { AttemptRef } from '../events/job-events.js';
import type { Backoff } from '../job/backoff.js';
import type { FencingToken } from '../job/job.js';
import type { ClaimedJob } from '../store/job-store.js';
import type { OpenClaim } from './open-claims.js';

export type AbortReason = FencelineError;

/** What a failure means for the job. */
export interface FailureRules {
  readonly maxAttempts: number;
  readonly backoff: Backoff;
  readonly isPermanent?: ((error: unknown) => boolean) | undefined;
}

export class Attempt {
  readonly jobId: string;
  readonly token: FencingToken;
  readonly number: number;
  /** performance.now() when the worker got it, and when it started. */
  readonly takenOnAt = performance.now();
  startedAt = this.takenOnAt;
  /** Known once the spec is read. */
  jobType: string | undefined;
  resourceKey: string | undefined;
  idempotencyKey: string | undefined;
  /** The queue's at first, the job's own once its spec is read. */
  rules: FailureRules;
  /** Local end of the lease, performance.now(). The store's own deadline is later than this. */
  leaseDeadline: number;
  /** When the attempt has run too long, and when an aborted handler's grace is over; performance.now(). */
  timeoutAt = Infinity;
  timeoutMs = 0;
  graceEndsAt = Infinity;
  /** The lease is over, whatever the signal's first reason was. */
  isLost = false;
  /** Its handler was called: what is thrown from now on is the handler's own error. */
  wasInvoked = false;
  /** The handler has returned, or its grace is over: nothing may abort or settle it any more. */
  hasEnded = false;

  private reason: AbortReason | undefined;
  private controller: AbortController | undefined;

  constructor(
    readonly claimed: ClaimedJob,
    readonly claim: OpenClaim,
    private readonly queue: { readonly name: string } & FailureRules,
    private readonly workerId: string,
    leaseDeadline: number,
  ) {
    this.jobId = claimed.jobId;
    this.token = claimed.token;
    this.number = claimed.attempt;
    this.rules = queue;
    this.leaseDeadline = leaseDeadline;
  }

  get abortReason(): AbortReason | undefined {
    return this.reason;
  }

  /** Made only when a handler asks for it: most never do, and a controller costs about a microsecond. */
  get signal(): AbortSignal {
    if (!this.controller) {
      this.controller = new AbortController();
      if (this.reason) this.controller.abort(this.reason);
    }
    return this.controller.signal;
  }

  /** The earliest of the moments at which something must happen to it. */
  get nextDeadline(): number {
    return Math.min(this.leaseDeadline, this.timeoutAt, this.graceEndsAt);
  }

  /** Only the first reason counts. */
  abort(reason: AbortReason, graceEndsAt: number): void {
    if (this.reason) return;
    this.reason = reason;
    this.graceEndsAt = graceEndsAt;
    this.timeoutAt = Infinity;
    this.controller?.abort(reason);
  }

  ref(): AttemptRef {
    return {
      queue: this.queue.name,
      jobId: this.jobId,
      jobType: this.jobType,
      attempt: this.number,
      workerId: this.workerId,
      fencingToken: this.token,
      resourceKey: this.resourceKey,
      idempotencyKey: this.idempotencyKey,
    };
  }
}
