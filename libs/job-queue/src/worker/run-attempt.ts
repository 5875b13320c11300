/** An attempt as one pipeline: resolve → validate → invoke → classify. Its outcome is settled by the caller. */
import { AttemptsExhaustedError, UnknownJobTypeError } from '../errors/attempt-errors.js';
import type { Outcome } from '../job/outcome.js';
import { serializeError } from '../job/job-error.js';
import { validatePayload } from '../job/payload-validation.js';
import { readSpec, type JobSpec } from '../job/spec.js';
import { INTERNAL } from '../options/defaults.js';
import type { ResolvedQueueOptions } from '../options/resolve-options.js';
import type { JobStore } from '../store/job-store.js';
import type { Attempt, FailureRules } from './attempt.js';
import { classifyFailure } from './classify.js';
import type { RegisteredHandler } from './handler-registry.js';
import { JobContext } from './job-context.js';
import { resultText } from './json-text.js';

export interface AttemptEnvironment {
  readonly queue: ResolvedQueueOptions;
  readonly store: JobStore;
  readonly workerId: string;
  readonly findHandler: (type: string) => RegisteredHandler | undefined;
  readonly onAcquired: (attempt: Attempt) => void;
  /** Called once the timeout of the attempt is known. */
  readonly watchTimeout: (attempt: Attempt, timeoutMs: number) => void;
  /** Called before the handler looks at its signal. */
  readonly noticeExpiry: (attempt: Attempt) => void;
}

export interface AttemptResult {
  /** `undefined`: the lease was lost and nothing is to be settled. */
  readonly outcome: Outcome | undefined;
  /** What the handler threw, as it is; the outcome has it as text. */
  readonly error?: unknown;
}

/** Runs the handler and says how it ended. Never rejects. */
export async function runAttempt(attempt: Attempt, environment: AttemptEnvironment): Promise<AttemptResult> {
  try {
    const { jobId } = attempt;
    const spec = readAnnounced(attempt, environment);
    const handler = environment.findHandler(spec.type);
    const rules = (attempt.rules = failureRules(spec.maxAttempts, handler, environment.queue));
    // First: without the handler nobody here knows its limit, and the attempt is not counted anyway.
    if (!handler) return refuseUnknownType(attempt, spec.type);
    if (attempt.number > rules.maxAttempts) throw new AttemptsExhaustedError(jobId, rules.maxAttempts);

    const payload = handler.payload
      ? await validatePayload(spec.type, handler.payload, spec.payload)
      : spec.payload;
    const { queue, workerId, store, noticeExpiry } = environment;
    const { maxAttempts } = rules;
    const job = new JobContext(attempt, queue, workerId, spec.createdAt, maxAttempts, store, noticeExpiry);
    // While the payload was checked, or another handler blocked the event loop, the lease may have been lost.
    noticeExpiry(attempt);
    if (attempt.abortReason) throw attempt.abortReason;
    environment.watchTimeout(attempt, handler.options.timeoutMs ?? queue.timeoutMs);
    attempt.wasInvoked = true;
    const result = resultText(spec.type, await handler.invoke(payload, job), queue.resultLimitBytes);
    return { outcome: result === undefined ? { kind: 'done' } : { kind: 'done', result } };
  } catch (error) {
    return { outcome: classifyFailure(attempt, error), error };
  }
}

/** The attempt is announced once its type is known, and also when that turns out to be unreadable. */
function readAnnounced(attempt: Attempt, { onAcquired }: AttemptEnvironment): JobSpec {
  try {
    const spec = readSpec(attempt.jobId, attempt.claimed.spec);
    attempt.jobType = spec.type;
    attempt.resourceKey = spec.resourceKey;
    attempt.idempotencyKey = spec.idempotencyKey;
    return spec;
  } finally {
    onAcquired(attempt);
  }
}

function failureRules(
  jobLimit: number | undefined,
  handler: RegisteredHandler | undefined,
  queue: ResolvedQueueOptions,
): FailureRules {
  if (!handler) return jobLimit === undefined ? queue : { ...queue, maxAttempts: jobLimit };
  const { maxAttempts, backoff, isPermanent } = handler.options;
  return {
    maxAttempts: jobLimit ?? maxAttempts ?? queue.maxAttempts,
    backoff: backoff ? { ...queue.backoff, ...backoff } : queue.backoff,
    isPermanent,
  };
}

/** During a rolling deploy the next worker may know the type; after an hour nobody will. */
function refuseUnknownType(attempt: Attempt, type: string): AttemptResult {
  const { claim, claimed } = attempt;
  const { firstRefusedAt } = claimed;
  const error = new UnknownJobTypeError(type);
  const isHopeless =
    firstRefusedAt !== undefined && claim.storeNow - firstRefusedAt >= INTERNAL.unknownTypePatienceMs;
  if (isHopeless) throw error;
  const delayMs = INTERNAL.unknownTypeDelayMs;
  return { outcome: { kind: 'snooze', delayMs, error: serializeError(error) }, error };
}
