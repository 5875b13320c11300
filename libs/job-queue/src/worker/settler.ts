/** Collects the outcomes of ended attempts for the next lane call, and tells the world what the store said to them. */
import type { JobEvents } from '../events/job-events.js';
import type { Outcome } from '../job/outcome.js';
import type { Settlement, SettleReply } from '../store/job-store.js';
import type { Attempt } from './attempt.js';

export interface EndedAttempt {
  readonly attempt: Attempt;
  readonly outcome: Outcome;
  /** What the handler threw, for the events; the outcome has it as text. */
  readonly error: unknown;
  readonly durationMs: number;
}

export class Settler {
  private waiting: EndedAttempt[] = [];

  constructor(private readonly events: JobEvents) {}

  get size(): number {
    return this.waiting.length;
  }

  add(ended: EndedAttempt): void {
    this.waiting.push(ended);
  }

  /** The oldest outcomes, at most `max`, for one call. The call carries them until it is answered. */
  take(max: number): EndedAttempt[] {
    if (this.waiting.length <= max) {
      const all = this.waiting;
      this.waiting = [];
      return all;
    }
    return this.waiting.splice(0, max);
  }

  static toSettlements(batch: readonly EndedAttempt[]): Settlement[] {
    return batch.map(({ attempt, outcome }) => ({ jobId: attempt.jobId, token: attempt.token, outcome }));
  }

  /** Announces what became of the batch. */
  announce(batch: readonly EndedAttempt[], replies: readonly SettleReply[]): void {
    for (const [i, ended] of batch.entries()) {
      const reply = replies[i];
      if (reply) this.announceOne(ended, reply);
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
