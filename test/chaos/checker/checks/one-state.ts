/** The state of a job, and the place where it stands. */
import type { Check } from '../evidence.js';
import { groupBy } from '../runs.js';
import { fieldsOf, jobsOf, membersOf, queueKey } from '../stored.js';

export const oneState: Check = {
  name: 'each job is in exactly one state',
  promise:
    'Every job stands once in the place of its status and in no other, and every entry there has a job.',
  needsEveryWrite: false,
  find: (evidence) => {
    const gone = fieldsOf(queueKey(evidence, 'gone'));
    const places = [...membersOf(evidence)].flatMap(([status, ids]) => ids.map((id) => ({ id, status })));
    const byId = groupBy(places, ({ id }) => id);
    const jobs = jobsOf(evidence);
    const homeless = [...byId.keys()].filter((id) => !jobs.has(id));
    const misplaced = [...jobs.values()].flatMap(({ id, run }) => {
      const statuses = (byId.get(id) ?? []).map(({ status }) => status);
      const expected = run['status'] ?? (statuses.includes('scheduled') ? 'scheduled' : 'queued');
      const count = statuses.length - Number(gone[id] ?? 0);
      if (count === 1 && statuses.includes(expected)) return [];
      return [`${id} has status ${expected} and stands in: ${statuses.join(', ') || 'nothing'}`];
    });
    return [...homeless.map((id) => `${id} stands in a list and has no job`), ...misplaced];
  },
};
