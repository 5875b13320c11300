/** Counts the jobs of each claim down, so that the store hears when it may forget who claimed what. */

/** One claim of a lane, of which the worker still holds jobs. */
export interface OpenClaim {
  /** `<lane>:<number>`, as the store names it. */
  readonly name: string;
  /** performance.now() before the request that granted the leases was sent. */
  readonly sentAt: number;
  /** The store's time of the claim, ms. */
  readonly storeNow: number;
  jobsLeft: number;
}

export class OpenClaims {
  private ended: string[] = [];

  /** A job of it is about to be settled, or was lost. */
  jobEnded(claim: OpenClaim): void {
    claim.jobsLeft -= 1;
    if (claim.jobsLeft === 0) this.ended.push(claim.name);
  }

  /** The names of those that ended since the last time. */
  takeEnded(): string[] {
    const { ended } = this;
    this.ended = [];
    return ended;
  }
}
