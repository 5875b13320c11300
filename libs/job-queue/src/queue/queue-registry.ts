/** The configured queues of this process, and what is known about the types of their jobs. */
import { UnknownQueueError } from '../errors/errors.js';
import type { PayloadClass } from '../job/job-definition.js';
import type { ResolvedQueueOptions } from '../options/resolve-options.js';
import type { JobStore } from '../store/job-store.js';

export interface QueueEntry {
  readonly options: ResolvedQueueOptions;
  readonly store: JobStore;
}

export interface JobTypeInfo {
  readonly payload: PayloadClass | undefined;
  readonly maxAttempts: number | undefined;
}

export class QueueRegistry {
  private readonly entries = new Map<string, QueueEntry>();
  private readonly types = new Map<string, JobTypeInfo>();

  /** The first entry is the default queue. */
  constructor(private readonly all: readonly [QueueEntry, ...QueueEntry[]]) {
    for (const entry of all) this.entries.set(entry.options.name, entry);
  }

  get defaultQueue(): QueueEntry {
    return this.all[0];
  }

  list(): readonly QueueEntry[] {
    return this.all;
  }

  /** @throws UnknownQueueError */
  get(name: string): QueueEntry {
    const entry = this.entries.get(name);
    if (!entry) throw new UnknownQueueError(name, [...this.entries.keys()]);
    return entry;
  }

  /** Lets enqueue by plain type validate too, and the inspector tell a job's limit. */
  describeType(queue: string, type: string, info: JobTypeInfo): void {
    this.types.set(`${queue}:${type}`, info);
  }

  typeInfo(queue: string, type: string): JobTypeInfo | undefined {
    return this.types.get(`${queue}:${type}`);
  }
}
