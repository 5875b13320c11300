/** How both stores cut a sliding window into the minutes in which counters are kept. */

const MINUTE_MS = 60_000;
/** Per-minute counters live this long. */
const MINUTES_KEPT = 120;

/**
 * How many minutes, the running one included, cover the window: one more than it is long, because the
 * running minute may just have begun.
 */
export function minutesOf(windowMs: number): number {
  return Math.min(Math.ceil(Math.max(0, windowMs) / MINUTE_MS) + 1, MINUTES_KEPT);
}
