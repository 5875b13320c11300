/** What the health checks look at. Abstract classes, because they are also the injection tokens. */
import type { JobStore } from '../store/job-store.js';

/** The part of a queue's store that health checks ask. */
export type ObservedStore = Pick<JobStore, 'snapshot' | 'recent'>;

/** The queues that are configured in this process. */
export abstract class QueueSource {
  abstract queueNames(): readonly string[];

  /** Store of the default queue when no name is given. Throws for a queue that is not configured. */
  abstract store(name?: string): ObservedStore;
}

/** A worker as its health check sees it. */
export interface ObservedWorker {
  readonly queue: string;
  readonly workerId: string;
  /** ms since its claim loop last turned. */
  loopAgeMs(): number;
}

/** The workers that run in this process; none in one that only enqueues. */
export abstract class WorkerSource {
  abstract workers(): readonly ObservedWorker[];
}
