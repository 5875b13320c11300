/** Waits for something that can be observed, never for a guessed time. */
import { setTimeout as sleep } from 'node:timers/promises';

const DEADLINE_MS = 15_000;
const PAUSE_MS = 10;

/** Looks again and again until `isMet`; fails with the last sight after the deadline. */
export async function eventually<T>(
  look: () => T | Promise<T>,
  isMet: (seen: T) => boolean,
  deadlineMs = DEADLINE_MS,
): Promise<T> {
  const deadline = performance.now() + deadlineMs;
  for (;;) {
    const seen = await look();
    if (isMet(seen)) return seen;
    if (performance.now() > deadline) {
      throw new Error(`Not within ${deadlineMs} ms. Last seen: ${JSON.stringify(seen)}`);
    }
    await sleep(PAUSE_MS);
  }
}
