/** How long to wait before the next attempt. */

export interface Backoff {
  /** Upper bound of the first retry's delay, ms. Doubles with each further attempt. */
  readonly baseDelayMs: number;
  /** No delay is longer than this, ms. */
  readonly maxDelayMs: number;
  /**
   * `full`: a random delay between 0 and the bound, so that jobs that failed together do not come back
   * together. `none`: exactly the bound.
   */
  readonly jitter: 'full' | 'none';
}

/** Delay in ms after the given attempt (1 = the first) failed. `random` returns [0, 1). */
export function nextDelayMs(backoff: Backoff, attempt: number, random: () => number = Math.random): number {
  const bound = Math.min(backoff.maxDelayMs, backoff.baseDelayMs * 2 ** (attempt - 1));
  return backoff.jitter === 'full' ? Math.round(random() * bound) : bound;
}
