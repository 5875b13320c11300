/** Gets the claim on an operation: begins it, waits for one that runs, or finds what it once answered. */
import { hostname } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { IdempotencyBusyError } from '../errors/idempotency-errors.js';
import { IdempotencyConflictError } from '../errors/key-errors.js';
import { nextDelayMs } from '../job/backoff.js';
import { newJobId } from '../job/job-id.js';
import { INTERNAL } from '../options/defaults.js';
import type { IdempotencyStore } from '../store/idempotency-store.js';
import { IdempotencyClaim } from './idempotency-claim.js';
import type { IdempotencyEvents } from './idempotency-events.js';

export interface OpenOptions {
  readonly fingerprint: string | undefined;
  readonly leaseMs: number;
  readonly waitMs: number;
  /** Ends the waiting. */
  readonly signal: AbortSignal | undefined;
}

export type Opening =
  | { readonly kind: 'started'; readonly claim: IdempotencyClaim }
  | { readonly kind: 'replay'; readonly result: string };

export class IdempotencyClaims {
  constructor(
    readonly store: IdempotencyStore,
    readonly events: IdempotencyEvents,
  ) {}

  /**
   * @throws IdempotencyConflictError when the key stands for another operation
   * @throws IdempotencyBusyError when it still runs after `waitMs`
   * @throws StoreUnavailableError
   * @throws the reason of `signal`
   */
  async open(key: string, { fingerprint, leaseMs, waitMs, signal }: OpenOptions): Promise<Opening> {
    const owner = `${hostname()}:${process.pid}:${newJobId()}`;
    const giveUpAt = performance.now() + waitMs;
    for (let attempt = 1; ; attempt += 1) {
      signal?.throwIfAborted();
      const sentAt = performance.now();
      const reply = await this.store.begin(key, fingerprint, owner, leaseMs);
      switch (reply.kind) {
        case 'started': {
          const event = reply.takenOver ? 'taken_over' : 'started';
          this.events.emit({ event, key, fencingToken: reply.token });
          const grant = { key, token: reply.token, leaseMs, sentAt };
          return { kind: 'started', claim: new IdempotencyClaim(this.store, this.events, grant) };
        }
        case 'replay':
          this.events.emit({ event: 'replayed', key });
          return reply;
        case 'conflict':
          this.events.emit({ event: 'conflict', key });
          throw new IdempotencyConflictError(key);
        case 'busy': {
          const { remainingMs } = reply;
          const leftMs = giveUpAt - performance.now();
          if (leftMs <= 0) {
            this.events.emit({ event: 'busy', key });
            throw new IdempotencyBusyError(key, Math.min(remainingMs, INTERNAL.idempotencyRetryAfterMs));
          }
          await pause(Math.min(nextDelayMs(INTERNAL.idempotencyPoll, attempt), remainingMs, leftMs), signal);
        }
      }
    }
  }
}

/** Ends early when the signal fires; the caller looks at it. */
async function pause(ms: number, signal: AbortSignal | undefined): Promise<void> {
  await sleep(Math.ceil(ms), undefined, signal && { signal }).catch(() => {});
}
