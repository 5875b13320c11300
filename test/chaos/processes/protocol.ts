/** What a process of a chaos run is told at its start, and later. */
import type { JobQueueModuleOptions } from '@fenceline/nestjs';

/** Travels as JSON, in the environment. */
export interface ChaosProcessOptions {
  /** Names its history. */
  readonly name: string;
  /** Folder of the histories. */
  readonly folder: string;
  /** Redis, through a proxy of its own. */
  readonly url: string;
  readonly prefix: string;
  readonly seed: number;
  readonly module: JobQueueModuleOptions;
  /** Path of the socket of the external store. */
  readonly rowStore: string;
  /** Jobs per second that a producer aims at. */
  readonly jobsPerSecond: number;
  /** A worker that kills itself as soon as it has reaped something. */
  readonly diesWhenReaping: boolean;
}

export const OPTIONS_VARIABLE = 'FENCELINE_CHAOS_PROCESS';

export function readOptions(): ChaosProcessOptions {
  return JSON.parse(process.env[OPTIONS_VARIABLE] ?? '{}') as ChaosProcessOptions;
}

/** To a producer: enqueue no more, or these too. To a worker: say what the health checks say. */
export type ToChaosProcess =
  | { readonly kind: 'stop_producing' }
  | { readonly kind: 'enqueue'; readonly jobs: number; readonly task: Task }
  | { readonly kind: 'tell_health' };

export type FromChaosProcess =
  | { readonly kind: 'ready' }
  | { readonly kind: 'produced'; readonly jobs: number }
  | { readonly kind: 'health'; readonly status: string; readonly message: string };

/** The payload of the one job type: what its handler shall do. */
export type Task =
  | { readonly does: 'return' }
  /** In steps, each of which it records. */
  | { readonly does: 'act'; readonly steps: number; readonly stepMs: number }
  /** Throws in its first attempt. */
  | { readonly does: 'fail_once' }
  | { readonly does: 'fail_always' }
  | { readonly does: 'fail_for_good' }
  /** Writes a row of the external store under the job's token, twice. */
  | { readonly does: 'write_row'; readonly row: string; readonly holdMs: number }
  /** Takes a lock, writes a row and a fenced value under the lock's token. */
  | { readonly does: 'lock'; readonly name: string; readonly holdMs: number }
  /** An operation of the IdempotencyService. */
  | { readonly does: 'operate'; readonly key: string }
  /** Goes on from its checkpoint. */
  | { readonly does: 'continue'; readonly steps: number }
  /** Lets nothing else run in its process, in its first attempt. */
  | { readonly does: 'block'; readonly ms: number };

export const JOB_TYPE = 'task';
