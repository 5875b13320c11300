/** The errors around locks: not getting one, losing one, and writing with a token that is too old. */
import { FencelineError } from './errors.js';

/** The lock was not free within `waitMs`. Nothing is held and nobody waits any more. */
export class LockTimeoutError extends FencelineError {
  readonly code = 'LOCK_TIMEOUT';

  constructor(
    readonly lockName: string,
    readonly waitMs: number,
  ) {
    super(
      `Lock "${lockName}" was not free within ${waitMs} ms. ` +
        'Try again later, wait longer (waitMs), or see who holds it: LockService.inspect().',
    );
  }
}

/** The signal's reason when a lease on a lock is lost: another may hold it now. Whatever is written from here on must be fenced. */
export class LockLostError extends FencelineError {
  readonly code = 'LOCK_LOST';

  constructor(
    readonly lockName: string,
    readonly fencingToken: number,
    why: string,
  ) {
    super(`The lease on lock "${lockName}" (fencing token ${fencingToken}) is lost: ${why}.`);
  }
}

/** A fenced write was refused: its target has seen a later lease. Nothing was changed; stop working on it. */
export class StaleFenceError extends FencelineError {
  readonly code = 'STALE_FENCE';

  constructor(
    /** What should have been written: a row, a key. */
    readonly target: string,
    readonly fencingToken: number,
    /** The token that stands in the way, where the target tells it. */
    readonly currentToken?: number,
  ) {
    const seen = currentToken === undefined ? 'a later one' : `token ${currentToken}`;
    super(
      `The write to "${target}" with fencing token ${fencingToken} was refused: it has already seen ${seen}. ` +
        'The lease behind this write was lost; stop working on it.',
    );
  }
}
