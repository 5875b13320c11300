/** One request that runs for the first time: decides what its answer means for the key, however it comes about. */
import { INTERNAL } from '../options/defaults.js';
import type { ResolvedIdempotentOptions } from '../options/idempotent-options.js';
import type { HandlerEntry } from './handler-entry.js';
import { writeAnswer, writeUnreplayable, type Answer, type AnswerRecord } from './http-answer.js';
import type { IdempotencyClaim } from './idempotency-claim.js';
import { idempotencyProblem } from './idempotency-problem.js';
import type { GateKeeper, NodeResponse } from './response-gate.js';

export type HandlerEnd = 'completed' | 'failed' | 'cancelled';

export class IdempotentExchange implements GateKeeper {
  private hasBegun = false;
  private handlerEnd: HandlerEnd | undefined;
  private isClosed = false;
  private isSettled = false;

  constructor(
    private readonly claim: IdempotencyClaim,
    private readonly entry: HandlerEntry,
    private readonly options: ResolvedIdempotentOptions,
  ) {}

  async onAnswer(answer: Answer): Promise<Answer | undefined> {
    const isStale = await this.settle(
      answer.status,
      () => writeAnswer(answer, this.options.resultLimitBytes),
      answer.asksToRepeat,
    );
    // Another run has given, or will give, the answer to this key. Two different ones must not be about.
    return isStale ? lostAnswer() : undefined;
  }

  async onStream(status: number): Promise<void> {
    await this.settle(status, () => writeUnreplayable(status, 'streamed'));
  }

  /** For answers that come by a way of their own, such as `reply.raw` of Fastify, or not at all. */
  watch(raw: NodeResponse): void {
    for (const event of ['finish', 'close'] as const) {
      raw.once(event, () => {
        this.isClosed = true;
        this.settleUnanswered(raw);
      });
    }
  }

  /** `false`: it must not run, since the response was over before it began, and the key is free. */
  handlerBegins(): boolean {
    this.hasBegun = !this.isSettled;
    return this.hasBegun;
  }

  handlerEnded(end: HandlerEnd, raw: NodeResponse): void {
    this.handlerEnd = end;
    this.settleUnanswered(raw);
  }

  /** Without this the key of a client that hung up could stay claimed for ever. */
  private settleUnanswered(raw: NodeResponse): void {
    if (this.isSettled || !this.isClosed || (this.hasBegun && this.handlerEnd === undefined)) return;
    // It never begins when an interceptor further out has given up on it before.
    if (!this.hasBegun || this.handlerEnd === 'cancelled') {
      void this.release();
    } else if (raw.headersSent) {
      void this.onStream(raw.statusCode);
    } else {
      setTimeout(() => {
        if (this.isSettled) return;
        void (this.handlerEnd === 'failed' ? this.release() : this.onStream(raw.statusCode));
      }, INTERNAL.unansweredGraceMs).unref();
    }
  }

  /** Whether the answer came too late. */
  private async settle(status: number, write: () => AnswerRecord, asksToRepeat = false): Promise<boolean> {
    if (this.isSettled) return false;
    if (!this.entry.isEntered || !this.isKept(status, asksToRepeat)) {
      await this.release();
      return false;
    }
    this.isSettled = true;
    const { text, unreplayable } = write();
    return (await this.claim.complete(text, this.options.ttlMs, unreplayable)) === 'stale';
  }

  private async release(): Promise<void> {
    this.isSettled = true;
    await this.claim.release();
  }

  private isKept(status: number, asksToRepeat: boolean): boolean {
    if (status >= 500) return this.options.storeServerErrors;
    return status < 400 || (this.options.storeClientErrors && !asksToRepeat);
  }
}

function lostAnswer(): Answer {
  const { problem, headers } = idempotencyProblem('lost', { retryAfterMs: INTERNAL.idempotencyRetryAfterMs });
  return { status: problem.status, headers, body: JSON.stringify(problem) };
}
