/** At most one unexpired lease per job and per resource key. */
import type { Check } from '../evidence.js';
import { describe, groupBy, runsByJob, runsOf, type Run } from '../runs.js';

export const oneRunAtATime: Check = {
  name: 'one holder per job and per resource key',
  promise:
    'Nobody acts for a job or a resource key, thinking that he holds it, once another has it under a later token.',
  needsEveryWrite: true,
  find: (evidence) => {
    const keyed = runsOf(evidence).filter(({ started }) => started.asked.resourceKey !== undefined);
    const byKey = groupBy(keyed, ({ started }) => started.asked.resourceKey ?? '');
    return [...runsByJob(evidence).values(), ...byKey.values()].flatMap(overlaps);
  },
};

function overlaps(runs: readonly Run[]): string[] {
  return runs.flatMap((run) => {
    const lastAct = [run.ended, ...run.acts.toReversed()].find((act) => act && !act.aborted);
    if (!lastAct) return [];
    const next = runs.find(({ started }) => started.token > run.started.token && started.at < lastAct.at);
    if (!next) return [];
    const ms = Math.round(lastAct.at - next.started.at);
    return [`${describe(run)} acted as its holder ${ms} ms after ${describe(next)} had started`];
  });
}
