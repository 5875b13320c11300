/** Promise 1: an accepted job ends. */
import type { Check, Evidence } from '../evidence.js';
import { entriesOf } from '../runs.js';
import { ENDED, jobsOf } from '../stored.js';

/** Accepted jobs that are gone. */
export function lostJobs(evidence: Evidence): string[] {
  const jobs = jobsOf(evidence);
  const accepted = new Set(entriesOf(evidence, 'enqueue_acknowledged').map(({ storedId }) => storedId));
  return [...accepted].filter((id) => !jobs.has(id));
}

export const noJobLost: Check = {
  name: 'no accepted job is lost',
  promise: 'Every job whose enqueue was acknowledged is there in the end, and is done, dead or cancelled.',
  needsEveryWrite: true,
  find: (evidence) => {
    const unfinished = [...jobsOf(evidence).values()].filter(
      ({ run }) => !ENDED.includes(run['status'] ?? ''),
    );
    return [
      ...lostJobs(evidence).map((id) => `${id} was acknowledged and is gone`),
      ...unfinished.map(({ id, run }) => `${id} is still ${run['status'] ?? 'queued'}`),
    ];
  },
};
