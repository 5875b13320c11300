import { describe, expect, it } from '@jest/globals';
import { INTERNAL } from '../options/defaults.js';
import { ClaimAhead } from './claim-ahead.js';

const { claimAheadAfterRuns, claimAheadFactor, claimAheadMax } = INTERNAL;
const CALL_MS = 1;

/** A worker whose calls to the store take 1 ms and whose handlers have run often enough to be judged. */
function afterRunsOf(runMs: number, concurrency = 1): ClaimAhead {
  const ahead = new ClaimAhead(concurrency);
  for (let i = 0; i < 200; i += 1) ahead.noteCall(CALL_MS);
  for (let i = 0; i < claimAheadAfterRuns; i += 1) ahead.noteRun(runMs);
  return ahead;
}

describe('ClaimAhead', () => {
  it('claims nothing ahead before it knows how fast handlers are', () => {
    const ahead = new ClaimAhead(10);
    ahead.noteCall(CALL_MS);
    for (let i = 1; i < claimAheadAfterRuns; i += 1) ahead.noteRun(0.001);
    expect(ahead.allowance).toBe(0);
    ahead.noteRun(0.001);
    expect(ahead.allowance).toBeGreaterThan(0);
  });

  it('claims as many jobs as run within one call, for all slots together', () => {
    expect(afterRunsOf(0.1).allowance).toBe(10);
    expect(afterRunsOf(0.1, 3).allowance).toBe(30);
  });

  it('claims at most so many', () => {
    expect(afterRunsOf(0.000_001, 50).allowance).toBe(claimAheadMax);
  });

  it('claims nothing ahead of handlers that take about as long as a call, or longer', () => {
    const limit = CALL_MS / claimAheadFactor;
    expect(afterRunsOf(limit * 0.9).allowance).toBeGreaterThan(0);
    expect(afterRunsOf(limit * 1.1).allowance).toBe(0);
    expect(afterRunsOf(50).allowance).toBe(0);
  });

  it('stops soon after handlers become slow', () => {
    const ahead = afterRunsOf(0.01);
    let runs = 0;
    for (; ahead.allowance > 0; runs += 1) ahead.noteRun(20);
    expect(runs).toBeLessThanOrEqual(2);
  });

  it('starts over when a job had to wait', () => {
    const ahead = afterRunsOf(0.01);
    ahead.startOver();
    expect(ahead.allowance).toBe(0);
    for (let i = 0; i < claimAheadAfterRuns; i += 1) ahead.noteRun(0.01);
    expect(ahead.allowance).toBeGreaterThan(0);
  });
});
