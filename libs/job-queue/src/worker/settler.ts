/** Collects the outcomes of ended attempts for the next lane call, and tells the world what the store said to them. */
import type { JobEvents } from '../events/job-events.js';
import type { Outcome } from '../job/outcome.js';
import type { Settlement, SettleReply } from '../store/job-store.js';
import type { Attempt } from './attempt.js';
import { OpenClaims, type OpenClaim } from './open-claims.js';

export interface EndedAttempt {
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** What the handler threw, for the events; the outcome has it as text. */
  readonly error: unknown;
  readonly durationMs: number;
}

/** What one call takes to the store. */
export interface SettleBatch {
  readonly ended: readonly EndedAttempt[];
  readonly settlements: readonly Settlement[];
  readonly endedClaims: readonly string[];
}

export class Settler {
  private waiting: EndedAttempt[] = [];
  private readonly claims = new OpenClaims();

  constructor(private readonly events: JobEvents) {}

  get size(): number {
    return this.waiting.length;
  }

  add(ended: EndedAttempt): void {
    this.waiting.push(ended);
  }

  /** For an attempt whose lease was lost: there is nothing to settle. */
  drop(attempt: Attempt): void {
    this.claims.jobEnded(attempt.claim);
  }

  /** The oldest outcomes, at most `max`, for one call. The call carries them until it is answered. */
  take(max: number): SettleBatch {
    const ended = this.waiting.length <= max ? this.waiting : this.waiting.splice(0, max);
    if (ended === this.waiting) this.waiting = [];
    const settlements: Settlement[] = [];
    const claims: OpenClaim[] = [];
    for (const { attempt, outcome } of ended) {
      claims.push(attempt.claim);
      settlements.push({ jobId: attempt.jobId, token: attempt.token, outcome });
    }
    return { ended, settlements, endedClaims: ended.length > 0 ? this.claims.endedWith(claims) : [] };
  }

  /** Announces what became of the batch. */
  announce({ ended, endedClaims }: SettleBatch, replies: readonly SettleReply[]): void {
    for (const { attempt } of ended) this.claims.jobEnded(attempt.claim);
    this.claims.forget(endedClaims);
    for (const [i, attempt] of ended.entries()) {
      const reply = replies[i];
      if (reply) this.announceOne(attempt, reply);
    }
  }

  private announceOne({ attempt, outcome, error, durationMs }: EndedAttempt, reply: SettleReply): void {
    const { events } = this;
    if (!reply.applied) {
      const { status, holder } = reply;
      events.emit('stale_refused', { ...attempt.ref(), durationMs, status, holder });
    } else if (reply.status === 'cancelled') {
      const { queue, jobId, workerId } = attempt.ref();
      events.emit('cancelled', { queue, jobId, workerId, durationMs });
    } else if (outcome.kind === 'done') {
      // The hot one: build nothing that nobody hears.
      if (events.has('done')) events.emit('done', { ...attempt.ref(), durationMs });
    } else if (outcome.kind === 'retry') {
      events.emit('retry_scheduled', { ...attempt.ref(), durationMs, delayMs: outcome.delayMs, error });
    } else if (outcome.kind === 'dead') {
      events.emit('dead', { ...attempt.ref(), durationMs, reason: outcome.reason, error });
    } else if (outcome.kind === 'release') {
      events.emit('released', { ...attempt.ref(), durationMs });
    } else if (outcome.kind === 'snooze') {
      events.emit('snoozed', { ...attempt.ref(), delayMs: outcome.delayMs, error });
    }
  }
}
