/** The right to run one operation: renews its lease, aborts its signal when that is over, and ends it once. */
import { setTimeout as sleep } from 'node:timers/promises';
import { StoreUnavailableError } from '../errors/errors.js';
import { IdempotencyLostError } from '../errors/idempotency-errors.js';
import { nextDelayMs } from '../job/backoff.js';
import type { FencingToken } from '../job/job.js';
import { INTERNAL } from '../options/defaults.js';
import type { IdempotencyStore } from '../store/idempotency-store.js';
import type { IdempotencyEventName, IdempotencyEvents } from './idempotency-events.js';

/** What the operation itself gets. */
export interface IdempotencyContext {
  /** Higher than that of every earlier run with this key. Pass it to whatever you write to, and refuse lower ones there. */
  readonly fencingToken: FencingToken;
  /** Aborts when the claim is lost: another may run the operation now. */
  readonly signal: AbortSignal;
}

/** `stale`: refused, the claim was lost. `unrecorded`: the store could not be told before the lease was over. */
export type Completion = 'done' | 'stale' | 'unrecorded';

export interface IdempotencyGrant {
  readonly key: string;
  readonly token: FencingToken;
  readonly leaseMs: number;
  /** performance.now() before the request that granted it was sent. */
  readonly sentAt: number;
}

export class IdempotencyClaim implements IdempotencyContext {
  readonly key: string;
  readonly fencingToken: FencingToken;
  readonly signal: AbortSignal;
  private readonly controller = new AbortController();
  private readonly leaseMs: number;
  private readonly heartbeat: NodeJS.Timeout;
  private watch: NodeJS.Timeout | undefined;
  /** Local end of the lease, performance.now(); the store's own is later. */
  private deadline: number;
  /** Its end was sent to the store: a renewal that comes after it finds nothing to renew, and that is no loss. */
  private isEnding = false;

  constructor(
    private readonly store: IdempotencyStore,
    private readonly events: IdempotencyEvents,
    { key, token, leaseMs, sentAt }: IdempotencyGrant,
  ) {
    this.key = key;
    this.fencingToken = token;
    this.leaseMs = leaseMs;
    this.signal = this.controller.signal;
    this.deadline = this.deadlineFrom(sentAt);
    // Not chained: a renewal that hangs must not keep the next one from being tried. Unreferenced: what the
    // operation does keeps the process alive, its lease alone does not.
    this.heartbeat = setInterval(() => void this.renew(), leaseMs / INTERNAL.heartbeatsPerLease).unref();
    this.watchDeadline();
  }

  /**
   * To be called before the operation starts: the grant may have been read late, by a process that stood still.
   * @throws IdempotencyLostError when the lease is over
   */
  ensureHeld(): void {
    this.noticeExpiry();
    this.signal.throwIfAborted();
  }

  /**
   * Ends the operation and keeps its result. While the store cannot be reached it is tried again as long as
   * nobody else can have taken over. Also offered after a lost lease: if nobody has, it still counts.
   * @param unreplayable why `result` only says that the operation was done
   */
  async complete(result: string, ttlMs: number, unreplayable?: string): Promise<Completion> {
    const { deadline } = this;
    this.isEnding = true;
    try {
      for (let attempt = 1; ; attempt += 1) {
        try {
          const accepted = await this.store.complete(this.key, this.fencingToken, result, ttlMs);
          if (!accepted) {
            this.tell('stale_refused', 'another owner took over, or the record is gone');
            return 'stale';
          }
          if (unreplayable === undefined) this.tell('done');
          else this.tell('unreplayable', unreplayable);
          return 'done';
        } catch (error) {
          const pauseMs = nextDelayMs(INTERNAL.storeRetry, attempt);
          if (!(error instanceof StoreUnavailableError) || performance.now() + pauseMs > deadline) {
            this.tell('unrecorded', error instanceof Error ? error.message : String(error));
            return 'unrecorded';
          }
          await sleep(pauseMs);
        }
      }
    } finally {
      this.stop();
    }
  }

  /** Ends the operation as if it had never begun. Never throws: if the store cannot be told, the lease runs out. */
  async release(): Promise<void> {
    this.isEnding = true;
    this.stop();
    try {
      if (await this.store.release(this.key, this.fencingToken)) this.tell('released');
    } catch {
      // Nothing can be done about it, and what the caller has to say is more important.
    }
  }

  private async renew(): Promise<void> {
    this.noticeExpiry();
    // One that was lost is not renewed: its owner was told to stop, the operation must go to someone else.
    if (this.signal.aborted) return;
    const sentAt = performance.now();
    try {
      if (await this.store.renew(this.key, this.fencingToken, this.leaseMs)) {
        this.deadline = Math.max(this.deadline, this.deadlineFrom(sentAt));
      } else if (!this.isEnding) {
        this.lose('the store gave it to someone else, or the record is gone');
      }
    } catch {
      // The local deadline decides what this means.
    }
  }

  private deadlineFrom(sentAt: number): number {
    return sentAt + this.leaseMs * (1 - INTERNAL.leaseMarginRatio);
  }

  /** Looks again when it fires: the lease may have been renewed meanwhile. */
  private watchDeadline(): void {
    const delayMs = Math.max(0, Math.ceil(this.deadline - performance.now()));
    this.watch = setTimeout(() => {
      this.noticeExpiry();
      if (!this.signal.aborted) this.watchDeadline();
    }, delayMs).unref();
  }

  private noticeExpiry(): void {
    if (performance.now() >= this.deadline) this.lose('it was not renewed in time');
  }

  private lose(why: string): void {
    if (this.signal.aborted) return;
    this.stop();
    this.tell('lost', why);
    this.controller.abort(new IdempotencyLostError(this.key, this.fencingToken, why));
  }

  private stop(): void {
    clearInterval(this.heartbeat);
    clearTimeout(this.watch);
  }

  private tell(event: IdempotencyEventName, reason?: string): void {
    const { key, fencingToken } = this;
    this.events.emit({ event, key, fencingToken, ...(reason !== undefined && { reason }) });
  }
}
