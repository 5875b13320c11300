/** Counts the jobs of each claim down, so that the store hears when it may forget who claimed what. */

/** One claim of a lane, of which the worker still holds jobs. */
export interface OpenClaim {
  /** `<lane>:<number>`, as the store names it. */
  readonly name: string;
  /** performance.now() before the request that granted the leases was sent. */
  readonly sentAt: number;
  /** The store's time of the claim, ms. */
  readonly storeNow: number;
  /** Those for which the store has not answered yet. */
  jobsLeft: number;
}

export class OpenClaims {
  private readonly ended = new Set<string>();

  /** The store has answered for one of its jobs, or the lease of one was lost. */
  jobEnded(claim: OpenClaim): void {
    claim.jobsLeft -= 1;
    if (claim.jobsLeft === 0) this.ended.add(claim.name);
  }

  /** The names of the claims of which nothing is left once a job of each of these is settled. They are told once. */
  endedWith(claims: readonly OpenClaim[]): string[] {
    const names = [...this.ended];
    this.ended.clear();
    const settled = new Map<OpenClaim, number>();
    for (const claim of claims) settled.set(claim, (settled.get(claim) ?? 0) + 1);
    for (const [claim, jobs] of settled) if (claim.jobsLeft === jobs) names.push(claim.name);
    return names;
  }

  /** These names were told and need not be told again. */
  forget(names: readonly string[]): void {
    for (const name of names) this.ended.delete(name);
  }
}
