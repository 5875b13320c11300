/** What a process of a chaos run writes down, one JSON line each. The checker knows nothing but these and Redis. */
import type { JobEventName } from '@fenceline/nestjs';

/** Names one run of one handler. */
export interface RunRef {
  readonly jobId: string;
  readonly token: number;
}

export type HistoryFact =
  /** The process is about to connect: every token it gets later was minted after this. */
  | { readonly kind: 'booted'; readonly role: 'worker' | 'producer'; readonly pid: number }
  /** Written before the call. `asked` is what the job was enqueued with. */
  | { readonly kind: 'enqueue_attempted'; readonly jobId: string; readonly asked: Asked }
  /** The call resolved: `storedId` is the job that is there, another one if a dedup key refused this one. */
  | {
      readonly kind: 'enqueue_acknowledged';
      readonly jobId: string;
      readonly storedId: string;
      readonly duplicate: boolean;
    }
  /** The product says that certainly nothing was stored. */
  | { readonly kind: 'enqueue_refused'; readonly jobId: string; readonly code: string }
  /** The product does not know whether it was stored. */
  | { readonly kind: 'enqueue_unknown'; readonly jobId: string; readonly code: string }
  | ({
      readonly kind: 'run_started';
      readonly attempt: number;
      readonly workerId: string;
      readonly asked: Asked;
    } & RunRef)
  /** The handler was about to do something. `aborted`: its signal had fired by then. */
  | ({ readonly kind: 'run_acted'; readonly aborted: boolean } & RunRef)
  | ({ readonly kind: 'run_ended'; readonly aborted: boolean; readonly threw: boolean } & RunRef)
  | {
      readonly kind: 'event';
      readonly event: JobEventName;
      readonly jobId?: string | undefined;
      readonly token?: number | undefined;
      readonly attempt?: number | undefined;
      readonly delayMs?: number | undefined;
      readonly lost?: 'all' | 'latest' | undefined;
    }
  /** Held at least until `heldUntil`, on the clock of `at`, by what the product says. */
  | {
      readonly kind: 'lock_acquired';
      readonly name: string;
      readonly token: number;
      readonly heldUntil: number;
    }
  /** Written before it is given back. `aborted`: the lease was lost by then. */
  | {
      readonly kind: 'lock_left';
      readonly name: string;
      readonly token: number;
      readonly heldUntil: number;
      readonly aborted: boolean;
    }
  /** By the external store, which is where the compare is made. */
  | { readonly kind: 'row_written'; readonly row: string; readonly token: number; readonly accepted: boolean }
  /** `fencedSet` resolved. */
  | { readonly kind: 'fenced_set'; readonly key: string; readonly token: number }
  /** The body of an operation that is to be done once per key; `done`: the product said that its result is kept. */
  | { readonly kind: 'operation_started'; readonly key: string; readonly token: number }
  | { readonly kind: 'operation_done'; readonly key: string; readonly result: string }
  /** By whoever disturbs: what, and whom. */
  | { readonly kind: 'fault'; readonly fault: string; readonly target?: string }
  | { readonly kind: 'killed'; readonly pid: number; readonly target: string }
  /** Nobody killed it or asked it to end. */
  | { readonly kind: 'died'; readonly target: string; readonly code: number | null; readonly output: string }
  /** Connections of a process to Redis when all is quiet. */
  | { readonly kind: 'connections'; readonly target: string; readonly open: number; readonly needed: number }
  | {
      readonly kind: 'exited';
      readonly target: string;
      readonly code: number | null;
      readonly tookMs: number;
    }
  | { readonly kind: 'healed' }
  | { readonly kind: 'drained' };

/** Options of a job that the checker must know. */
export interface Asked {
  readonly delayMs?: number;
  readonly resourceKey?: string;
  readonly idempotencyKey?: string;
  readonly dedupKey?: string;
  readonly maxAttempts: number;
}

/** `at`: ms of the machine's monotonic clock, which all its processes share and which no wrong wall clock moves. */
export type HistoryEntry = HistoryFact & { readonly at: number; readonly by: string };

export type EntryOf<K extends HistoryFact['kind']> = Extract<HistoryEntry, { kind: K }>;

const NANOSECONDS_PER_MS = 1e6;

/** `performance.now()` starts at zero in every process; this does not. */
export function monotonicNow(): number {
  return Number(process.hrtime.bigint()) / NANOSECONDS_PER_MS;
}
