/** What the orchestrator and the process of one run say to each other. */
import type { ContenderName } from './contenders/contender.js';
import type { Metrics } from './scenario.js';
import type { Scale } from './sizes.js';

/** Environment variable that holds the request as JSON. */
export const RUN_VARIABLE = 'FENCELINE_BENCH_RUN';

export interface RunRequest {
  readonly scenario: string;
  readonly contender: ContenderName;
  readonly scale: Scale;
  /** A Redis that nobody else uses. */
  readonly url: string;
}

/** The run does not count when it is not `ok`. */
export type RunReport =
  { readonly ok: true; readonly metrics: Metrics } | { readonly ok: false; readonly reason: string };
