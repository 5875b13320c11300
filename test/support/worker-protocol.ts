/** What a worker process of the tests is told at its start, and what it and its parent say to each other. */
import type { EnqueueOptions, EnqueueReply, JobEventName, JobQueueModuleOptions } from '@fenceline/nestjs';

/** Travels as JSON, in the environment. */
export interface WorkerProcessOptions {
  readonly url: string;
  readonly prefix: string;
  /** Further options of the module. */
  readonly module?: JobQueueModuleOptions;
  /** `hold` kills its own process instead of waiting. */
  readonly crashes?: boolean;
}

export const OPTIONS_VARIABLE = 'FENCELINE_TEST_WORKER';

export interface HoldPayload {
  /** What the handler does when its signal fires. Default: throw the signal's reason. */
  readonly onAbort?: 'throw' | 'return' | 'ignore';
}

export interface BlockPayload {
  /** The event loop stays blocked until this file is there… */
  readonly untilFile: string;
  /** …and for this long. */
  readonly atLeastMs: number;
}

export interface EnqueueRequest {
  readonly type: string;
  readonly payload: object;
  readonly options: EnqueueOptions;
}

export type ToWorker =
  | { readonly kind: 'finish'; readonly jobId: string }
  | { readonly kind: 'enqueue'; readonly request: EnqueueRequest };

export interface StartedMessage {
  readonly kind: 'started';
  readonly jobId: string;
  readonly attempt: number;
  readonly token: number;
  /** The process's own clock. */
  readonly wallClock: number;
}

export interface EventMessage {
  readonly kind: 'event';
  readonly event: JobEventName;
  readonly jobId: string | undefined;
}

export type FromWorker =
  | { readonly kind: 'ready' }
  | { readonly kind: 'stopping' }
  | StartedMessage
  | EventMessage
  /** The handler's signal fired; `code` is its reason's. */
  | { readonly kind: 'aborted'; readonly jobId: string; readonly code: string }
  | { readonly kind: 'enqueued'; readonly reply: EnqueueReply };
