/** Which partition of a queue something belongs to. Every process must come to the same answer, for ever. */
import { newJobId } from './job-id.js';

const GENERATED_ID = /^[0-9a-hjkmnp-tv-z]{22}-(\d{1,3})$/;

/** FNV-1a over UTF-16 code units: spreads short keys evenly and needs no encoding. */
export function partitionOfKey(key: string, partitions: number): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < key.length; i++) hash = Math.imul(hash ^ key.charCodeAt(i), 0x01000193);
  // Its last bit is that of a sum; the high bits are mixed better.
  hash ^= hash >>> 15;
  return (hash >>> 0) % partitions;
}

/** A generated id that says where its job is. */
export function newPartitionedJobId(partition: number): string {
  return `${newJobId()}-${partition}`;
}

/** What a generated id says; `undefined` for an id that a caller chose. */
export function partitionInId(jobId: string, partitions: number): number | undefined {
  const partition = Number(GENERATED_ID.exec(jobId)?.[1] ?? NaN);
  return partition < partitions ? partition : undefined;
}

/** Where a job with this id is, unless a key of it decided otherwise. */
export function partitionOfId(jobId: string, partitions: number): number {
  return partitionInId(jobId, partitions) ?? partitionOfKey(jobId, partitions);
}
