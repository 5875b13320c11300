/**
 * Decides how many jobs a worker may hold beyond its slots. While handlers take far less time than a call to the
 * store, slots would stand empty for most of it; with a few jobs at hand they do not (concurrency 1: 4 k → 40 k
 * jobs/s). For handlers that take as long as a call, or longer, the answer is 0.
 */
import { INTERNAL } from '../options/defaults.js';

export class ClaimAhead {
  private meanRunMs = 0;
  private meanCallMs = 0;
  private runs = 0;

  constructor(private readonly concurrency: number) {}

  /** Jobs that run within one call to the store, for all slots together, and long before they would be given back. */
  get allowance(): number {
    const { runs, meanRunMs, concurrency } = this;
    const callMs = Math.min(this.meanCallMs, INTERNAL.claimAheadWaitMs / 2);
    if (runs < INTERNAL.claimAheadAfterRuns || meanRunMs * INTERNAL.claimAheadFactor > callMs) return 0;
    return Math.min(Math.floor((concurrency * callMs) / meanRunMs), INTERNAL.claimAheadMax);
  }

  noteRun(durationMs: number): void {
    this.runs += 1;
    this.meanRunMs += (durationMs - this.meanRunMs) * INTERNAL.claimAheadSmoothing;
  }

  noteCall(durationMs: number): void {
    this.meanCallMs += (durationMs - this.meanCallMs) * INTERNAL.claimAheadSmoothing;
  }

  /** A job that was claimed ahead had to wait: handlers are not as fast any more. */
  startOver(): void {
    this.runs = 0;
  }
}
