/**
 * Every error this library throws or hands to a signal. Each has a stable `code` for programs and a
 * message for people: what happened, to which value, and what to do about it.
 */

export abstract class FencelineError extends Error {
  /** Stable, machine-readable name of the error kind. */
  abstract readonly code: string;

  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
  }
}

/** An option, argument or setting has a value that cannot work. `field` is its real name. */
export class InvalidOptionError extends FencelineError {
  readonly code: string = 'INVALID_OPTION';

  constructor(
    readonly field: string,
    readonly received: unknown,
    readonly mend: string,
  ) {
    super(`${field}: ${mend} (received ${describe(received)})`);
  }
}

/** The module cannot start as configured: bad options, two handlers for one type, a client that cannot be used. */
export class ConfigurationError extends InvalidOptionError {
  override readonly code = 'CONFIGURATION';
}

/** One rejected property of a payload. `path` is dotted, e.g. `address.city`. */
export interface FieldViolation {
  readonly path: string;
  readonly messages: readonly string[];
}

/** The payload does not fit its job's class. At enqueue nothing was stored; at execution the job is buried. */
export class PayloadValidationError extends FencelineError {
  readonly code = 'PAYLOAD_INVALID';

  constructor(
    readonly jobType: string,
    readonly violations: readonly FieldViolation[],
  ) {
    const detail = violations.map(({ path, messages }) => `${path}: ${messages.join(', ')}`).join('; ');
    super(`The payload of "${jobType}" is not valid: ${detail}`);
  }

  /** What may be logged: which properties do not fit. The messages of validators may quote what the payload holds. */
  get outline(): string {
    return `The payload of "${this.jobType}" is not valid: ${this.violations.map(({ path }) => path).join(', ')}`;
  }
}

/** The serialised payload is over the queue's `payloadLimitBytes`. Nothing was stored. */
export class PayloadTooLargeError extends FencelineError {
  readonly code = 'PAYLOAD_TOO_LARGE';

  constructor(
    readonly jobType: string,
    readonly bytes: number,
    readonly limitBytes: number,
  ) {
    super(
      `The payload of "${jobType}" has ${bytes} bytes, the limit is ${limitBytes}. ` +
        'Store the large part elsewhere and enqueue a reference, or raise payloadLimitBytes.',
    );
  }
}

/** The handler's result is over `resultLimitBytes` or is not JSON. The job is buried: running it again cannot help. */
export class ResultUnstorableError extends FencelineError {
  readonly code = 'RESULT_UNSTORABLE';

  constructor(
    readonly jobType: string,
    readonly problem: string,
  ) {
    super(
      `The result of "${jobType}" cannot be stored: ${problem}. ` +
        'Return a reference to the large part, or raise resultLimitBytes.',
    );
  }
}

/** What was given to `checkpoint.set` is over `resultLimitBytes` or is not JSON. Nothing was stored. */
export class CheckpointUnstorableError extends FencelineError {
  readonly code = 'CHECKPOINT_UNSTORABLE';

  constructor(
    readonly jobId: string,
    readonly problem: string,
  ) {
    super(
      `The checkpoint of job "${jobId}" cannot be stored: ${problem}. ` +
        'Keep a position or a reference in it, or raise resultLimitBytes.',
    );
  }
}

/** What is stored as the checkpoint is not JSON: it was damaged, or written by hand. */
export class CheckpointUnreadableError extends FencelineError {
  readonly code = 'CHECKPOINT_UNREADABLE';

  constructor(readonly jobId: string) {
    super(`The checkpoint of job "${jobId}" is not JSON. Delete it to let the job start from the beginning.`);
  }
}

/** No queue of that name is configured in this process. */
export class UnknownQueueError extends FencelineError {
  readonly code = 'UNKNOWN_QUEUE';

  constructor(
    readonly queue: string,
    configured: readonly string[],
  ) {
    super(`There is no queue "${queue}". Configured in forRoot: ${configured.join(', ')}.`);
  }
}

/** No job with that id exists: it never did, or it was removed or pruned. */
export class JobNotFoundError extends FencelineError {
  readonly code = 'JOB_NOT_FOUND';

  constructor(readonly jobId: string) {
    super(`There is no job "${jobId}": it was never enqueued here, or it was removed or pruned.`);
  }
}

/** The job's status does not allow the operation; nothing was changed. */
export class IllegalTransitionError extends FencelineError {
  readonly code = 'ILLEGAL_TRANSITION';

  constructor(
    readonly jobId: string,
    readonly operation: string,
    readonly status: string,
    readonly allowed: readonly string[],
  ) {
    super(`Cannot ${operation} job "${jobId}" while it is ${status}. Possible from: ${allowed.join(', ')}.`);
  }
}

/** The enqueue was certainly not stored; it is safe to try again or to give up. The cause says why. */
export class EnqueueRefusedError extends FencelineError {
  readonly code = 'ENQUEUE_REFUSED';

  constructor(
    readonly jobId: string,
    private readonly reason: string,
    options?: ErrorOptions,
  ) {
    super(`Job "${jobId}" was not enqueued: ${reason}`, options);
  }

  /** The same for another job of the same call. */
  forJob(jobId: string): EnqueueRefusedError {
    return new EnqueueRefusedError(jobId, this.reason, { cause: this.cause });
  }
}

/**
 * The request was sent and no reply came: the job may or may not be stored. Enqueue again with this
 * `jobId` to make sure; the same id never becomes two jobs.
 */
export class EnqueueUnknownError extends FencelineError {
  readonly code = 'ENQUEUE_UNKNOWN';

  constructor(
    readonly jobId: string,
    options?: ErrorOptions,
  ) {
    super(
      `It is unknown whether job "${jobId}" was enqueued: the connection broke before the reply. ` +
        'Enqueue it again with this jobId to be sure; it will not become two jobs.',
      options,
    );
  }

  /** The same for another job of the same call. */
  forJob(jobId: string): EnqueueUnknownError {
    return new EnqueueUnknownError(jobId, { cause: this.cause });
  }
}

/** The store cannot be reached or refuses to work for now. */
export class StoreUnavailableError extends FencelineError {
  readonly code = 'STORE_UNAVAILABLE';

  constructor(reason: string, options?: ErrorOptions) {
    super(`The job store is not available: ${reason}`, options);
  }
}

/** The server cannot be used at all: too old, or its keys were written by an incompatible version. */
export class IncompatibleStoreError extends FencelineError {
  readonly code = 'INCOMPATIBLE_STORE';
}

/** A numbered worker call came after a later one of the same lane; it must not be carried out any more. */
export class SupersededCallError extends FencelineError {
  readonly code = 'SUPERSEDED_CALL';

  constructor(workerId: string, lane: number, call: number) {
    super(`Call ${call} of worker "${workerId}", lane ${lane}, was superseded by a later one.`);
  }
}

/** A write was refused because its fencing token is no longer the job's current one. */
export class StaleTokenError extends FencelineError {
  readonly code = 'STALE_TOKEN';

  constructor(
    readonly jobId: string,
    readonly fencingToken: number,
  ) {
    super(
      `Fencing token ${fencingToken} is no longer current for job "${jobId}": ` +
        'its lease was lost and another attempt may be running. Stop working on it.',
    );
  }
}

function describe(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 80 ? `${value.slice(0, 80)}…` : value);
  if (typeof value === 'function') return `function ${value.name || '(anonymous)'}`;
  if (typeof value !== 'object' || value === null) return String(value);
  return Array.isArray(value)
    ? `an array of ${value.length}`
    : `an object of ${value.constructor?.name ?? 'null'}`;
}
