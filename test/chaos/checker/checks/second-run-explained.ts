/** A job runs again only if something is on record that allows it. */
import type { Check } from '../evidence.js';
import { describe, entriesOf, pairsOf, runsByJob } from '../runs.js';
import { fieldsOf, queueKey } from '../stored.js';

const ALLOWS: readonly string[] = ['retry_scheduled', 'released', 'snoozed', 'reaped'];

export const secondRunExplained: Check = {
  name: 'a second run needs a reason',
  promise: 'Between two runs of a job its lease was lost, given back, or its failure recorded.',
  needsEveryWrite: true,
  find: (evidence) => {
    const unexplained = [...runsByJob(evidence).values()].flatMap((runs) =>
      pairsOf(runs).filter(([first]) => !first.events.some(({ event }) => ALLOWS.includes(event))),
    );
    // Whoever reaped, released or settled may have died before he wrote it down: the script has counted it.
    const stats = fieldsOf(queueKey(evidence, 'stats'));
    const recorded = (event: string): number =>
      entriesOf(evidence, 'event').filter((entry) => entry.event === event).length;
    const spare = {
      reaped: 'lost_leases',
      retry_scheduled: 'retried',
      released: 'released',
      snoozed: 'snoozed',
    };
    const unrecorded = Object.entries(spare)
      .map(([event, stat]) => Math.max(0, Number(stats[stat] ?? 0) - recorded(event)))
      .reduce((sum, count) => sum + count, 0);
    if (unexplained.length <= unrecorded) return [];
    return unexplained.map(
      ([first, second]) =>
        `${describe(second)} followed ${describe(first)} without a reason (${unrecorded} are unrecorded)`,
    );
  },
};
