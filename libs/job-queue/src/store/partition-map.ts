/** Knows in which partition a job is: by its id, and for those whose keys led them elsewhere, by having seen them. */
import { partitionInId, partitionOfId, partitionOfKey } from '../job/partition.js';
import type { NewJob } from './new-job.js';

/** The items that go to one partition, and their places among all. */
export interface Part<T> {
  readonly items: T[];
  readonly places: number[];
}

export class PartitionMap {
  /** Jobs claimed by this process that are not where their id belongs, and when they were last asked for; in that order. */
  private readonly strays = new Map<string, { readonly partition: number; readonly seenAt: number }>();
  private keepMs = 0;

  constructor(private readonly partitions: number) {}

  ofNew({ partition, id, keys = {} }: NewJob): number {
    const { resource, idempotency, dedup } = keys;
    const key = resource ?? idempotency?.key ?? dedup?.key;
    return partition ?? (key === undefined ? this.ofId(id) : partitionOfKey(key, this.partitions));
  }

  ofId(jobId: string): number {
    const stray = this.strays.size === 0 ? undefined : this.strays.get(jobId);
    if (stray === undefined) return partitionOfId(jobId, this.partitions);
    this.keep(jobId, stray.partition);
    return stray.partition;
  }

  /** For longer than the time between two heartbeats, which ask for every job that is held. */
  keepFor(ms: number): void {
    this.keepMs = Math.max(this.keepMs, ms);
  }

  /** The job can be nowhere else. */
  isCertain(jobId: string): boolean {
    return partitionInId(jobId, this.partitions) !== undefined;
  }

  noteClaimed(jobId: string, partition: number): void {
    if (partitionOfId(jobId, this.partitions) !== partition) this.keep(jobId, partition);
  }

  split<T>(all: readonly T[], partitionOf: (item: T) => number): Map<number, Part<T>> {
    const parts = new Map<number, Part<T>>();
    for (const [place, item] of all.entries()) {
      const partition = partitionOf(item);
      let part = parts.get(partition);
      if (!part) parts.set(partition, (part = { items: [], places: [] }));
      part.items.push(item);
      part.places.push(place);
    }
    return parts;
  }

  private keep(jobId: string, partition: number): void {
    const now = performance.now();
    this.strays.delete(jobId);
    this.strays.set(jobId, { partition, seenAt: now });
    for (const [oldest, { seenAt }] of this.strays) {
      if (seenAt + this.keepMs >= now) return;
      this.strays.delete(oldest);
    }
  }
}
