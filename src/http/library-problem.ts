/** The library's errors as problems: what they mean for an HTTP client, who knows neither locks nor jobs' insides. */
import {
  DedupTypeError,
  DuplicateJobError,
  EnqueueRefusedError,
  EnqueueUnknownError,
  IdempotencyBusyError,
  IdempotencyConflictError,
  IdempotencyLostError,
  IdempotencyUnreplayableError,
  IllegalTransitionError,
  InvalidOptionError,
  JobNotFoundError,
  KeyTakenError,
  LockLostError,
  LockTimeoutError,
  PayloadTooLargeError,
  PayloadValidationError,
  StaleFenceError,
  StoreUnavailableError,
} from '@fenceline/nestjs';
import { BUSY_SECONDS, OUTAGE_SECONDS, type Problem } from './problem.js';

/** `undefined` for everything else, and for those that a client cannot cause. */
export function problemOfLibraryError(error: unknown): Problem | undefined {
  return (
    problemOfRequest(error) ?? problemOfKeys(error) ?? problemOfContention(error) ?? problemOfOutage(error)
  );
}

function problemOfRequest(error: unknown): Problem | undefined {
  if (error instanceof PayloadValidationError) {
    return { status: 400, code: error.code, detail: 'The payload is not valid.', errors: error.violations };
  }
  // Its subclass ConfigurationError is our own mistake, not the client's.
  if (error instanceof InvalidOptionError && error.code === 'INVALID_OPTION') {
    const violation = { path: error.field, messages: [error.mend] };
    return { status: 400, code: error.code, detail: error.message, errors: [violation] };
  }
  if (error instanceof PayloadTooLargeError) {
    return { status: 413, code: error.code, detail: error.message };
  }
  if (error instanceof JobNotFoundError) {
    return { status: 404, code: error.code, detail: error.message };
  }
  if (error instanceof IllegalTransitionError) {
    return { status: 409, code: error.code, detail: error.message };
  }
  return undefined;
}

/** The names of keys are ours, so the messages of most of these are not shown. */
function problemOfKeys(error: unknown): Problem | undefined {
  if (error instanceof DuplicateJobError) {
    const detail = 'The same is to be done already by another job, which has not ended yet.';
    return { status: 409, code: error.code, detail, jobId: error.ownerJobId };
  }
  if (error instanceof DedupTypeError) {
    const detail = 'Another job, which does something else, stands in the way until it has ended.';
    return { status: 409, code: error.code, detail, jobId: error.ownerJobId };
  }
  if (error instanceof KeyTakenError) {
    return { status: 409, code: error.code, detail: error.message };
  }
  if (error instanceof IdempotencyConflictError) {
    const detail = 'The same key was used for another request before. Use a new key for a new request.';
    return { status: 422, code: error.code, detail };
  }
  if (error instanceof IdempotencyUnreplayableError) {
    const detail = 'The request with this key was carried out, but its result was not kept.';
    return { status: 409, code: error.code, detail };
  }
  return undefined;
}

/** Two at the same thing: the later one loses, and may try again. */
function problemOfContention(error: unknown): Problem | undefined {
  if (error instanceof LockTimeoutError) {
    const detail = 'Somebody else is working on this at the moment. Try again later.';
    return { status: 409, code: error.code, detail, retryAfter: BUSY_SECONDS };
  }
  if (error instanceof IdempotencyBusyError) {
    const detail = 'The request with this key is still being worked on. Repeat it later to get its result.';
    return { status: 409, code: error.code, detail, retryAfter: Math.ceil(error.retryAfterMs / 1_000) };
  }
  if (
    error instanceof LockLostError ||
    error instanceof StaleFenceError ||
    error instanceof IdempotencyLostError
  ) {
    const detail =
      'The work took so long that somebody else may have taken it over. Try again to see what became of it.';
    return { status: 409, code: error.code, detail, retryAfter: BUSY_SECONDS };
  }
  return undefined;
}

/** The messages of these may name hosts and ports of our network. */
function problemOfOutage(error: unknown): Problem | undefined {
  const retryAfter = OUTAGE_SECONDS;
  if (error instanceof EnqueueRefusedError) {
    const detail = 'The job was not accepted and nothing was stored. Try again later.';
    return { status: 503, code: error.code, detail, retryAfter };
  }
  if (error instanceof EnqueueUnknownError) {
    const detail =
      'The connection to the job store broke before it answered, so the job may or may not be stored. ' +
      'Send the same request again with this jobId to be sure; it will not become two jobs.';
    return { status: 503, code: error.code, detail, jobId: error.jobId, retryAfter };
  }
  if (error instanceof StoreUnavailableError) {
    const detail = 'The job store is not available at the moment. Try again later.';
    return { status: 503, code: error.code, detail, retryAfter };
  }
  return undefined;
}
