/** The errors of operations that run once per idempotency key; `IdempotencyConflictError` is in key-errors.ts. */
import { FencelineError } from './errors.js';

/** The operation runs elsewhere and did not end within `waitMs`. Nothing was run. */
export class IdempotencyBusyError extends FencelineError {
  readonly code = 'IDEMPOTENCY_BUSY';

  constructor(
    readonly idempotencyKey: string,
    /** When it is worth trying again, ms. */
    readonly retryAfterMs: number,
  ) {
    super(
      `The operation with the idempotency key "${idempotencyKey}" is still running. ` +
        `Try again in ${retryAfterMs} ms, or wait for it (waitMs).`,
    );
  }
}

/**
 * The claim on the operation is lost: another may run it, or has run it. As the signal's reason: whatever is
 * written from here on must be fenced. As the error of a run: its result was not stored and must not count.
 */
export class IdempotencyLostError extends FencelineError {
  readonly code = 'IDEMPOTENCY_LOST';

  constructor(
    readonly idempotencyKey: string,
    readonly fencingToken: number,
    why: string,
  ) {
    super(
      `The claim on the idempotency key "${idempotencyKey}" (fencing token ${fencingToken}) is lost: ${why}. ` +
        'Run it again with the same key to get the result that counts.',
    );
  }
}

/** The operation was done, but its result could not be kept and so cannot be given again. Nothing was run. */
export class IdempotencyUnreplayableError extends FencelineError {
  readonly code = 'IDEMPOTENCY_UNREPLAYABLE';

  constructor(
    readonly idempotencyKey: string,
    readonly why: string,
  ) {
    super(
      `The operation with the idempotency key "${idempotencyKey}" was done, but its result was not kept: ${why}. ` +
        'It is not run again. Look up what it did, or use a new key for a new operation.',
    );
  }
}
