/** The errors that end an attempt: those a handler throws to steer it, and those that abort its signal. */
import { FencelineError } from './errors.js';

/** Thrown by a handler: trying again cannot help, bury the job now. */
export class PermanentError extends FencelineError {
  readonly code = 'PERMANENT';
}

/** Thrown by a handler: try again in `delayMs` milliseconds instead of the backoff's delay. Counts as an attempt. */
export class RetryAfterError extends FencelineError {
  readonly code = 'RETRY_AFTER';

  constructor(
    readonly delayMs: number,
    message = `try again in ${delayMs} ms`,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/** The signal's reason when the lease is lost: another worker may run the job now. Whatever is written from here on must be fenced. */
export class LeaseLostError extends FencelineError {
  readonly code = 'LEASE_LOST';

  constructor(
    readonly jobId: string,
    readonly fencingToken: number,
    why: string,
  ) {
    super(`The lease of job "${jobId}" (fencing token ${fencingToken}) is lost: ${why}.`);
  }
}

/** The attempt ran longer than its `timeoutMs`. It is retried like any failure. */
export class JobTimeoutError extends FencelineError {
  readonly code = 'JOB_TIMEOUT';

  constructor(
    readonly jobId: string,
    readonly timeoutMs: number,
  ) {
    super(`Job "${jobId}" ran longer than its timeoutMs of ${timeoutMs}.`);
  }
}

/** The job was cancelled while it ran. */
export class JobCancelledError extends FencelineError {
  readonly code = 'JOB_CANCELLED';

  constructor(readonly jobId: string) {
    super(`Job "${jobId}" was cancelled.`);
  }
}

/** The worker is shutting down and the time for finishing is over; the job goes back to the queue uncounted. */
export class WorkerShutdownError extends FencelineError {
  readonly code = 'WORKER_SHUTDOWN';

  constructor(readonly jobId: string) {
    super(`The worker is shutting down; job "${jobId}" goes back to the queue.`);
  }
}

/** No handler for this type is registered in the worker that claimed the job. */
export class UnknownJobTypeError extends FencelineError {
  readonly code = 'UNKNOWN_JOB_TYPE';

  constructor(readonly jobType: string) {
    super(
      `No @JobHandler('${jobType}') is registered in any worker of this queue. ` +
        'Deploy the handler, then redrive the job.',
    );
  }
}

/** The stored spec is not readable JSON of the expected shape. */
export class UnreadableSpecError extends FencelineError {
  readonly code = 'SPEC_UNREADABLE';

  constructor(
    readonly jobId: string,
    problem: string,
  ) {
    super(`The stored spec of job "${jobId}" cannot be read: ${problem}.`);
  }
}

/** Every allowed attempt was started and none was ever settled: the job most likely kills its worker. */
export class AttemptsExhaustedError extends FencelineError {
  readonly code = 'ATTEMPTS_EXHAUSTED';

  constructor(
    readonly jobId: string,
    readonly maxAttempts: number,
  ) {
    super(
      `All ${maxAttempts} attempts of job "${jobId}" were used up and the last one never reported back: ` +
        'its worker crashed, was killed, or lost its lease.',
    );
  }
}
