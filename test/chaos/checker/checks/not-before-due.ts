/** Delays, by Redis's clock, whatever the clocks of producers and workers say. */
import type { Check, Evidence } from '../evidence.js';
import { describe, entriesOf, runsByJob } from '../runs.js';

/** Redis rounds its time down to a millisecond. */
const ROUNDING_MS = 2;
/** Redis waits by the wall clock, histories go by the monotonic one; while the former is being set they differ in speed. */
const CLOCK_RATE = 0.02;

export const notBeforeDue: Check = {
  name: 'nothing runs before it is due',
  promise:
    'A delayed job starts no earlier than its delay after its enqueue, a retry no earlier than its backoff.',
  needsEveryWrite: true,
  find: (evidence) => [...firstRuns(evidence), ...retries(evidence)],
};

function firstRuns(evidence: Evidence): string[] {
  const attempted = new Map<string, number>();
  for (const { jobId, at } of entriesOf(evidence, 'enqueue_attempted')) {
    if (!attempted.has(jobId)) attempted.set(jobId, at);
  }
  return [...runsByJob(evidence)].flatMap(([id, [first]]) => {
    const enqueuedAt = attempted.get(id);
    const delayMs = first?.started.asked.delayMs;
    if (!first || enqueuedAt === undefined || delayMs === undefined) return [];
    const early = enqueuedAt + waitOf(delayMs) - first.started.at;
    return early > 0 ? [`${describe(first)} started ${Math.ceil(early)} ms early`] : [];
  });
}

function waitOf(delayMs: number): number {
  return delayMs * (1 - CLOCK_RATE) - ROUNDING_MS;
}

function retries(evidence: Evidence): string[] {
  return [...runsByJob(evidence).values()].flatMap((runs) =>
    runs.flatMap(({ started, ended, events }) => {
      const retry = events.find(({ event }) => event === 'retry_scheduled');
      const next = runs.find((run) => run.started.token > started.token);
      if (!retry || !ended || !next) return [];
      const early = ended.at + waitOf(retry.delayMs ?? 0) - next.started.at;
      return early > 0 ? [`${describe(next)} started ${Math.ceil(early)} ms before its retry was due`] : [];
    }),
  );
}
