/** Promise 2: a stale run never changes a job's state. */
import type { Check, Evidence } from '../evidence.js';
import { describe, entriesOf, groupBy, runsByJob } from '../runs.js';

const ACCEPTED: readonly string[] = ['done', 'dead', 'retry_scheduled', 'released', 'snoozed'];
const FINAL: readonly string[] = ['done', 'dead', 'cancelled', 'replayed'];

export const staleChangeRefused: Check = {
  name: 'no state change is accepted from a stale token',
  promise:
    'An outcome that was reached after the next run of the job had started is refused, and each job ends once.',
  needsEveryWrite: true,
  find: (evidence) => [...acceptedLate(evidence), ...endedTwice(evidence)],
};

function acceptedLate(evidence: Evidence): string[] {
  return [...runsByJob(evidence).values()].flatMap((runs) =>
    runs.flatMap((run) => {
      const { started, ended } = run;
      const accepted = run.events.find(({ event }) => ACCEPTED.includes(event));
      const next = runs.find((other) => other.started.token > started.token);
      if (!accepted || !next || !ended || ended.at <= next.started.at) return [];
      return [`"${accepted.event}" of ${describe(run)} was accepted although ${describe(next)} had started`];
    }),
  );
}

function endedTwice(evidence: Evidence): string[] {
  const ends = entriesOf(evidence, 'event').filter(({ event }) => FINAL.includes(event));
  return [...groupBy(ends, ({ jobId }) => jobId ?? '')]
    .filter(([, events]) => events.length > 1)
    .map(
      ([id, events]) => `${id} ended ${events.length} times: ${events.map(({ event }) => event).join(', ')}`,
    );
}
