import { describe, expect, it } from '@jest/globals';
import { nextDelayMs } from './backoff.js';

describe('nextDelayMs', () => {
  const backoff = { baseDelayMs: 100, maxDelayMs: 1_000, jitter: 'full' } as const;

  it('doubles its bound with each attempt, up to the longest delay', () => {
    const bounds = [1, 2, 3, 4, 5, 50].map((attempt) => nextDelayMs(backoff, attempt, () => 1));
    expect(bounds).toEqual([100, 200, 400, 800, 1_000, 1_000]);
  });

  it('takes any part of the bound by chance, so that jobs that failed together do not come back together', () => {
    expect(nextDelayMs(backoff, 3, () => 0)).toBe(0);
    expect(nextDelayMs(backoff, 3, () => 0.25)).toBe(100);
    const delays = new Set(Array.from({ length: 100 }, () => nextDelayMs(backoff, 4)));
    expect(delays.size).toBeGreaterThan(50);
    expect(Math.max(...delays)).toBeLessThanOrEqual(800);
  });

  it('is exactly the bound without jitter', () => {
    expect(nextDelayMs({ ...backoff, jitter: 'none' }, 2)).toBe(200);
  });
});
