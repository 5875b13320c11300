/** Puts together what the history says about each run of a handler. */
import type { EntryOf, HistoryEntry, HistoryFact } from '../history/entry.js';
import type { Evidence } from './evidence.js';

export interface Run {
  readonly started: EntryOf<'run_started'>;
  /** What its handler did, in order. */
  readonly acts: readonly EntryOf<'run_acted'>[];
  /** Missing if its process died, or hangs. */
  readonly ended: EntryOf<'run_ended'> | undefined;
  /** Events that name its token. */
  readonly events: readonly EntryOf<'event'>[];
}

export function entriesOf<K extends HistoryFact['kind']>(
  { entries }: Evidence,
  kind: K,
): readonly EntryOf<K>[] {
  return entries.filter((entry): entry is EntryOf<K> => entry.kind === kind);
}

export function groupBy<T>(items: readonly T[], keyOf: (item: T) => string): ReadonlyMap<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const item of items) {
    const key = keyOf(item);
    const group = groups.get(key);
    if (group) group.push(item);
    else groups.set(key, [item]);
  }
  return groups;
}

const known = new WeakMap<readonly HistoryEntry[], readonly Run[]>();

/** By the time they started. */
export function runsOf(evidence: Evidence): readonly Run[] {
  const before = known.get(evidence.entries);
  if (before) return before;
  const acts = groupBy(entriesOf(evidence, 'run_acted'), refOf);
  const ends = groupBy(entriesOf(evidence, 'run_ended'), refOf);
  const events = groupBy(entriesOf(evidence, 'event'), refOf);
  const runs = entriesOf(evidence, 'run_started').map((started) => {
    const ref = refOf(started);
    return { started, acts: acts.get(ref) ?? [], ended: ends.get(ref)?.[0], events: events.get(ref) ?? [] };
  });
  known.set(evidence.entries, runs);
  return runs;
}

export function runsByJob(evidence: Evidence): ReadonlyMap<string, readonly Run[]> {
  return groupBy(runsOf(evidence), ({ started }) => started.jobId);
}

/** Pairs of what follows each other. */
export function pairsOf<T>(items: readonly T[]): readonly (readonly [T, T])[] {
  return items.slice(1).map((item, i) => [items[i] ?? item, item] as const);
}

export function describe({ started }: Run): string {
  return `${started.jobId} attempt ${started.attempt} token ${started.token} in ${started.by}`;
}

function refOf({ jobId, token }: { jobId?: string | undefined; token?: number | undefined }): string {
  return `${jobId} ${token}`;
}
