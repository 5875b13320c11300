/** The boundary where a handler's return value or error becomes an `Outcome`. After it, nothing is steered by exceptions. */
import {
  AttemptsExhaustedError,
  JobCancelledError,
  JobTimeoutError,
  PermanentError,
  RetryAfterError,
  UnknownJobTypeError,
  UnreadableSpecError,
  WorkerShutdownError,
} from '../errors/attempt-errors.js';
import { PayloadValidationError, ResultUnstorableError } from '../errors/errors.js';
import { nextDelayMs, type Backoff } from '../job/backoff.js';
import { serializeError } from '../job/job-error.js';
import type { DeadReason } from '../job/job.js';
import type { Outcome } from '../job/outcome.js';
import type { Attempt } from './attempt.js';

/**
 * What the failure of an attempt means for its job. `undefined`: its lease was lost, so it has nothing to
 * say any more; whoever holds the job now decides.
 */
export function classifyFailure(attempt: Attempt, thrown: unknown): Outcome | undefined {
  const { abortReason: aborted, rules } = attempt;
  if (attempt.isLost) return undefined;
  if (aborted instanceof WorkerShutdownError) return { kind: 'release' };
  if (aborted instanceof JobCancelledError) return { kind: 'cancelled' };

  const reason = deadReason(thrown, attempt);
  if (reason) return bury(reason, thrown);
  // What a timed-out handler throws is usually just "aborted"; the timeout is what people need to see.
  const error = aborted instanceof JobTimeoutError ? aborted : thrown;
  if (attempt.number >= rules.maxAttempts) return bury('attempts_exhausted', error);
  return { kind: 'retry', delayMs: retryDelay(attempt, thrown, rules.backoff), error: serializeError(error) };
}

export function bury(reason: DeadReason, error: unknown): Outcome {
  return { kind: 'dead', reason, error: serializeError(error) };
}

function deadReason(error: unknown, { wasInvoked, rules }: Attempt): DeadReason | undefined {
  if (error instanceof UnreadableSpecError) return 'spec_unreadable';
  // A handler may throw one too, when it enqueues; that says nothing about its own payload.
  if (error instanceof PayloadValidationError && !wasInvoked) return 'payload_invalid';
  if (error instanceof ResultUnstorableError) return 'result_unstorable';
  if (error instanceof AttemptsExhaustedError) return 'attempts_exhausted';
  if (error instanceof UnknownJobTypeError) return 'unknown_type';
  if (error instanceof PermanentError) return 'permanent_error';
  try {
    return rules.isPermanent?.(error) ? 'permanent_error' : undefined;
  } catch {
    // A broken predicate must not decide that a job is beyond help.
    return undefined;
  }
}

function retryDelay(attempt: Attempt, error: unknown, backoff: Backoff): number {
  if (error instanceof RetryAfterError && Number.isFinite(error.delayMs) && error.delayMs >= 0) {
    return Math.round(error.delayMs);
  }
  return nextDelayMs(backoff, attempt.number);
}
