/** What the health checks look at. Abstract classes, because they are also the injection tokens. */
import type { DataLoss } from '../queue/data-loss-watch.js';
import type { JobStore, QueueMark } from '../store/job-store.js';

/** The part of a queue's store that health checks ask. */
export type ObservedStore = Pick<JobStore, 'snapshot' | 'recent' | 'mark'>;

/** The queues that are configured in this process. */
export abstract class QueueSource {
  abstract queueNames(): readonly string[];

  /** Store of the default queue when no name is given. Throws for a queue that is not configured. */
  abstract store(name?: string): ObservedStore;

  /** What the store of this queue lost of late, as far as this process knows, given what it shows now. */
  abstract dataLossOf(name: string, mark: QueueMark): DataLoss | undefined;
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
