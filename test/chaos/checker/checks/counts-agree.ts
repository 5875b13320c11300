/** What the counters say, and what is there. */
import type { Check } from '../evidence.js';
import { fieldsOf, jobsOf, membersOf, queueKey } from '../stored.js';

export const countsAgree: Check = {
  name: 'counters equal membership',
  promise: 'The lifetime counters of done, dead, cancelled and enqueued jobs equal the jobs that are there.',
  needsEveryWrite: false,
  find: (evidence) => {
    const stats = fieldsOf(queueKey(evidence, 'stats'));
    const members = membersOf(evidence);
    const there: Record<string, number> = { enqueued: jobsOf(evidence).size };
    for (const status of ['done', 'dead', 'cancelled']) there[status] = members.get(status)?.length ?? 0;
    return Object.entries(there)
      .filter(([stat, count]) => Number(stats[stat] ?? 0) !== count)
      .map(([stat, count]) => `"${stat}" is counted as ${stats[stat] ?? 0}, and there are ${count}`);
  },
};
