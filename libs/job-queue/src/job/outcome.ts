/** How an attempt ended: the one value that travels from the handler's boundary to the store. */
import type { DeadReason } from './job.js';

/**
 * `done`: the result is JSON text, absent when the handler returned nothing.
 * `retry`: run again in `delayMs`; the attempt counts.
 * `dead`: into the dead-letter queue.
 * `cancelled`: the cancellation that was asked for took effect.
 * `release`: back to the head of the queue, the attempt does not count (shutdown).
 * `snooze`: run again in `delayMs`, the attempt does not count (nobody here knows its type yet).
 * `error` is JSON text of a `JobError` without `at`, which the store adds by its own clock.
 */
export type Outcome =
  | { readonly kind: 'done'; readonly result?: string }
  | { readonly kind: 'retry'; readonly delayMs: number; readonly error: string }
  | { readonly kind: 'dead'; readonly reason: DeadReason; readonly error: string }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'release' }
  | { readonly kind: 'snooze'; readonly delayMs: number; readonly error: string };

export type OutcomeKind = Outcome['kind'];
