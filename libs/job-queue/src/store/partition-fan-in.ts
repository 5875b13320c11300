/** Puts together what all partitions of a queue say about it. */
import { InvalidOptionError } from '../errors/errors.js';
import { JOB_STATUSES, type JobStatus } from '../job/job.js';
import {
  STATS,
  type JobPage,
  type JobStore,
  type ListQuery,
  type QueueMark,
  type QueueSnapshot,
} from './job-store.js';

export function sumOf<T>(all: readonly T[], valueOf: (one: T) => number): number {
  return all.reduce((sum, one) => sum + valueOf(one), 0);
}

/** Paused is what is paused anywhere: a pause that reached only some partitions shows. */
export function sumSnapshots(all: readonly QueueSnapshot[]): QueueSnapshot {
  const record = <K extends string>(keys: readonly K[], valueOf: (one: QueueSnapshot, key: K) => number) =>
    Object.fromEntries(keys.map((key) => [key, sumOf(all, (one) => valueOf(one, key))])) as Record<K, number>;
  return {
    counts: record<JobStatus>(JOB_STATUSES, ({ counts }, status) => counts[status]),
    paused: all.some(({ paused }) => paused),
    oldestReadyAgeMs: Math.max(...all.map(({ oldestReadyAgeMs }) => oldestReadyAgeMs)),
    lifetime: record(STATS, ({ lifetime }, stat) => lifetime[stat]),
  };
}

/** `createdAt` is no time here, but changes whenever that of a partition does. */
export function joinMarks(all: readonly QueueMark[]): QueueMark {
  const known = all.flatMap(({ createdAt }) => (createdAt === undefined ? [] : [createdAt]));
  return {
    createdAt: known.length === all.length ? sumOf(known, (at) => at) : undefined,
    counted: sumOf(all, ({ counted }) => counted),
  };
}

/** Where the next page goes on in each partition: a cursor of its store, '' for the start, `null` when it has no more. */
type Cursors = readonly (string | null)[];

interface Entry {
  readonly partition: number;
  readonly id: string;
  readonly at: number;
}

/** One page of all partitions: by time where the index has one, else the heads of all before the second of any. */
export async function listPartitions(partitions: readonly JobStore[], query: ListQuery): Promise<JobPage> {
  const cursors = parse(query.cursor, partitions.length);
  const { cursor: _cursor, ...rest } = query;
  const listAt = async (partition: number, limit: number): Promise<JobPage> => {
    const cursor = cursors[partition];
    const store = partitions[partition];
    if (cursor === null || !store) return { ids: [], nextCursor: undefined };
    return store.list({ ...rest, limit, ...(cursor ? { cursor } : {}) });
  };
  const pages = await Promise.all(partitions.map((_, i) => listAt(i, query.limit)));
  const entries = pages.flatMap(({ ids, times }, partition) =>
    ids.map((id, i): Entry => ({ partition, id, at: times?.[i] ?? i })),
  );
  const isTimed = pages.some(({ times }) => times !== undefined);
  const direction = isTimed && query.order === 'newest' ? -1 : 1;
  // Stable, so within a partition nothing changes places.
  const chosen = entries.toSorted((a, b) => direction * (a.at - b.at)).slice(0, query.limit);

  const next = await Promise.all(
    pages.map(async ({ ids, nextCursor = null }, partition) => {
      const used = chosen.filter((entry) => entry.partition === partition).length;
      if (used === ids.length) return nextCursor;
      const before = cursors[partition] ?? null;
      // What left the index meanwhile may make this page the last; then better show some jobs twice than none.
      return used === 0 ? before : ((await listAt(partition, used)).nextCursor ?? before);
    }),
  );
  return {
    ids: chosen.map(({ id }) => id),
    ...(isTimed ? { times: chosen.map(({ at }) => at) } : {}),
    nextCursor: next.some((cursor) => cursor !== null) ? JSON.stringify(next) : undefined,
  };
}

function parse(cursor: string | undefined, partitions: number): Cursors {
  if (cursor === undefined) return Array.from({ length: partitions }, () => '');
  const refusal = new InvalidOptionError('cursor', cursor, 'must be the nextCursor of an earlier page');
  try {
    const cursors: unknown = JSON.parse(cursor);
    const isOurs = (one: unknown): one is string | null => one === null || typeof one === 'string';
    if (Array.isArray(cursors) && cursors.length === partitions && cursors.every(isOurs)) return cursors;
  } catch {
    throw refusal;
  }
  throw refusal;
}
