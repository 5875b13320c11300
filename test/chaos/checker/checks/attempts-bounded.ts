/** The attempt limit. */
import type { Check } from '../evidence.js';
import { describe, runsByJob } from '../runs.js';
import { jobsOf } from '../stored.js';

export const attemptsBounded: Check = {
  name: 'attempts are bounded',
  promise: 'No handler runs beyond the limit of its job, nor more often than attempts and releases allow.',
  needsEveryWrite: true,
  find: (evidence) => {
    const jobs = jobsOf(evidence);
    return [...runsByJob(evidence)].flatMap(([id, runs]) => {
      const over = runs
        .filter(({ started }) => started.attempt > started.asked.maxAttempts)
        .map((run) => `${describe(run)} is beyond the limit of ${run.started.asked.maxAttempts}`);
      const uncounted = runs.filter(({ events }) =>
        events.some(({ event }) => event === 'released' || event === 'snoozed'),
      ).length;
      const counted = Number(jobs.get(id)?.run['attempt'] ?? Infinity);
      const tooMany =
        runs.length - uncounted > counted
          ? [`${id} ran ${runs.length} times, ${uncounted} of them uncounted, in ${counted} attempts`]
          : [];
      return [...over, ...tooMany];
    });
  },
};
