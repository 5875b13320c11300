/** All that a check may look at: what the processes wrote down, and what Redis holds when all is over. */
import type { HistoryEntry } from '../history/entry.js';
import type { FinalState } from '../world/final-state.js';

export interface Evidence {
  /** By time. */
  readonly entries: readonly HistoryEntry[];
  readonly final: FinalState;
  /** Connections to Redis after all processes have ended, without the checker's own. */
  readonly openConnections: number;
  /** What processes wrote to their standard streams. */
  readonly complaints: readonly string[];
  readonly leaseMs: number;
  readonly drainWithinMs: number;
  /** Redis may have lost what it acknowledged: checks that a loss can break measure it instead. */
  readonly mayLose: boolean;
}

/** One promise, and how it is decided whether it was kept. */
export interface Check {
  readonly name: string;
  readonly promise: string;
  /** What broke it, one line each. */
  readonly find: (evidence: Evidence) => string[];
  /** Redis itself breaks it when it loses what it acknowledged. */
  readonly needsEveryWrite: boolean;
}
