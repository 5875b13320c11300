/** Waits for something observable. Never for time to pass. */
import { setTimeout as sleep } from 'node:timers/promises';

const POLL_MS = 5;

/**
 * Repeats `look` until it answers something other than `undefined`, `false` or a throw.
 * @throws what it saw last, after `timeoutMs`
 */
export async function eventually<T>(
  look: () => Promise<T | undefined | false> | T | undefined | false,
  { timeoutMs = 10_000, what = 'it' }: { timeoutMs?: number; what?: string } = {},
): Promise<T> {
  const deadline = performance.now() + timeoutMs;
  let last: unknown;
  for (;;) {
    try {
      const seen = await look();
      if (seen !== undefined && seen !== false) return seen;
      last = seen;
    } catch (error) {
      last = error;
    }
    if (performance.now() > deadline) {
      throw new Error(`${what} did not happen within ${timeoutMs} ms`, { cause: last });
    }
    await sleep(POLL_MS);
  }
}
