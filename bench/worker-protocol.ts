/** What a scenario and its worker processes say to each other. */
import type { ContenderName } from './contenders/contender.js';

/** Environment variable that holds the request as JSON. */
export const WORKER_VARIABLE = 'FENCELINE_BENCH_WORKER';

export interface WorkerRequest {
  readonly contender: ContenderName;
  readonly url: string;
}

/** The only word in the other direction is `stop`. */
export type FromWorker =
  | { readonly kind: 'ready' }
  /** Numbers of the jobs it started, and when it started the last one, by `machineTimeMs`. */
  | { readonly kind: 'stopped'; readonly started: readonly number[]; readonly lastAt: number };

/** The same clock in every process of the machine. */
export function machineTimeMs(): number {
  return Number(process.hrtime.bigint()) / 1e6;
}
