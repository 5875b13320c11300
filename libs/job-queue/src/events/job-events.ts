/**
 * What happens to jobs, as typed events. Logging, metrics and users subscribe here; a listener that
 * throws or rejects harms nothing but itself.
 */
import type { DeadReason, FencingToken, JobStatus } from '../job/job.js';

/** Who and which attempt: common to everything that happens in a worker. */
export interface AttemptRef {
  readonly queue: string;
  readonly jobId: string;
  /** `undefined` where the spec was not read or is unreadable. */
  readonly jobType: string | undefined;
  readonly attempt: number;
  readonly workerId: string;
  readonly fencingToken: FencingToken;
  readonly resourceKey?: string | undefined;
  readonly idempotencyKey?: string | undefined;
}

export interface JobRef {
  readonly queue: string;
  readonly jobId: string;
}

/** event → its data. Durations in ms. */
export interface JobEventMap {
  enqueued: JobRef & { jobType: string; status: JobStatus; duplicate: boolean };
  /** The job met a busy key and waits for it. */
  blocked: JobRef & { workerId: string };
  /** The job ended `done` with the stored result of its idempotency key, without running. */
  replayed: JobRef & { workerId: string };
  /** It starts. A job that was claimed and given back before it could start is `released` without this. */
  acquired: AttemptRef;
  renewed: { queue: string; workerId: string; leases: number };
  /** The worker noticed that a lease is no longer its own. */
  lost: AttemptRef & { reason: string };
  done: AttemptRef & { durationMs: number };
  retry_scheduled: AttemptRef & { durationMs: number; delayMs: number; error: unknown };
  dead: AttemptRef & { durationMs: number; reason: DeadReason; error: unknown };
  cancelled: JobRef & { workerId?: string; durationMs?: number };
  released: AttemptRef & { durationMs: number };
  snoozed: AttemptRef & { delayMs: number; error: unknown };
  /** The store refused an outcome because its token is stale; the outcome was dropped. */
  stale_refused: AttemptRef & {
    durationMs: number;
    status: JobStatus | undefined;
    holder: string | undefined;
  };
  /** A handler did not return within the grace after its signal fired. */
  runaway: AttemptRef & { graceMs: number };
  /** The reaper took a lease back. `workerId` is the former owner. */
  reaped: JobRef & {
    attempt: number;
    workerId: string | undefined;
    fencingToken: FencingToken | undefined;
    status: JobStatus;
  };
  promoted: { queue: string; jobs: number };
  pruned: { queue: string; jobs: number };
  redriven: JobRef;
  removed: JobRef;
  cancel_requested: JobRef;
  paused: { queue: string };
  resumed: { queue: string };
  /** The store stopped answering (once per outage), and answers again. */
  store_unavailable: { queue: string; workerId: string; error: unknown };
  /**
   * The store does not hold any more what it held: everything (`all`: FLUSHALL, a restart without persistence, a
   * failover to an empty server), or what came last (`latest`: an older copy). Told once per loss, by every process
   * that notices it.
   */
  store_lost_data: { queue: string; lost: 'all' | 'latest' };
  store_recovered: { queue: string; workerId: string; outageMs: number };
}

export type JobEventName = keyof JobEventMap;
export type JobEventListener<E extends JobEventName> = (data: JobEventMap[E]) => void | Promise<void>;

export class JobEvents {
  private readonly listeners: { [E in JobEventName]?: JobEventListener<E>[] } = {};

  constructor(private readonly onListenerError: (event: JobEventName, error: unknown) => void = () => {}) {}

  /** Subscribes; the returned function unsubscribes. */
  on<E extends JobEventName>(event: E, listener: JobEventListener<E>): () => void {
    const list = this.listenersOf(event);
    list.push(listener);
    return () => {
      const index = list.indexOf(listener);
      if (index >= 0) list.splice(index, 1);
    };
  }

  /** Lets hot paths skip building data that nobody hears. */
  has(event: JobEventName): boolean {
    const list = this.listeners[event];
    return list !== undefined && list.length > 0;
  }

  emit<E extends JobEventName>(event: E, data: JobEventMap[E]): void {
    if (!this.has(event)) return;
    for (const listener of [...this.listenersOf(event)]) {
      try {
        // Not `instanceof Promise`: a listener may answer with a promise of another library.
        const returned = listener(data);
        if (returned) Promise.resolve(returned).catch((error: unknown) => this.onListenerError(event, error));
      } catch (error) {
        this.onListenerError(event, error);
      }
    }
  }

  private listenersOf<E extends JobEventName>(event: E): JobEventListener<E>[] {
    const known: JobEventListener<E>[] | undefined = this.listeners[event];
    if (known) return known;
    const created: JobEventListener<E>[] = [];
    // The mapped type cannot follow that `event` and `created` share E; assign through one typed record.
    (this.listeners as Record<E, JobEventListener<E>[]>)[event] = created;
    return created;
  }
}
