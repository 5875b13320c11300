import { expect, it } from '@jest/globals';
import { INTERNAL } from './defaults.js';

/** docs/reliability.md: on top of a lease and a reap. */
const PROMISED_RECOVERY_MS = 5_000;

it('comes back from an outage in the promised time even at the longest backoffs', () => {
  // First the connection waits for its turn, then the call.
  expect(2 * INTERNAL.storeRetry.maxDelayMs).toBeLessThan(PROMISED_RECOVERY_MS);
});
