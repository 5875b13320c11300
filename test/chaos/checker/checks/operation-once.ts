/** Idempotency: once the result is kept, nobody does it again and everybody gets the same. */
import type { Check, Evidence } from '../evidence.js';
import { describe, entriesOf, groupBy, runsOf } from '../runs.js';
import { jobsOf } from '../stored.js';

export const operationOnce: Check = {
  name: 'an operation that was done is not done again',
  promise: 'After its result was kept no other run with the idempotency key starts, and all get that result.',
  needsEveryWrite: true,
  find: (evidence) => [...operations(evidence), ...keyedRuns(evidence), ...keyedResults(evidence)],
};

function operations(evidence: Evidence): string[] {
  const starts = groupBy(entriesOf(evidence, 'operation_started'), ({ key }) => key);
  return [...groupBy(entriesOf(evidence, 'operation_done'), ({ key }) => key)].flatMap(([key, done]) => {
    const results = new Set(done.map(({ result }) => result));
    const again = (starts.get(key) ?? []).filter(({ at }) => at > (done[0]?.at ?? Infinity));
    return [
      ...(results.size > 1 ? [`operation ${key} has the results ${[...results].join(' and ')}`] : []),
      ...again.map(({ by }) => `operation ${key} was done again in ${by}`),
    ];
  });
}

function keyedRuns(evidence: Evidence): string[] {
  const keyed = runsOf(evidence).filter(({ started }) => started.asked.idempotencyKey !== undefined);
  return [...groupBy(keyed, ({ started }) => started.asked.idempotencyKey ?? '')].flatMap(([key, runs]) => {
    const ends = runs.flatMap(({ events }) => events.filter(({ event }) => event === 'done'));
    const doneAt = Math.min(...ends.map(({ at }) => at));
    return runs
      .filter(({ started }) => started.at > doneAt)
      .map((run) => `${describe(run)} did ${key} again`);
  });
}

function keyedResults(evidence: Evidence): string[] {
  const done = [...jobsOf(evidence).values()].filter(
    ({ run }) => run['status'] === 'done' && run['idempotency_key'] !== undefined,
  );
  return [...groupBy(done, ({ run }) => run['idempotency_key'] ?? '')].flatMap(([key, jobs]) => {
    const results = new Set(jobs.map(({ result }) => result));
    return results.size > 1 ? [`${key} has ${results.size} results`] : [];
  });
}
