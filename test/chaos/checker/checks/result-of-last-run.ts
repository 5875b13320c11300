/** The stored result is that of the run that was accepted. */
import type { TaskResult } from '../../processes/task-handlers.js';
import type { Check } from '../evidence.js';
import { runsOf } from '../runs.js';
import { jobsOf } from '../stored.js';

export const resultOfLastRun: Check = {
  name: 'a result is that of the accepted run',
  promise: "A done job has run under the token that Redis has for it, and its result is that run's.",
  needsEveryWrite: false,
  find: (evidence) => {
    const ran = new Set(runsOf(evidence).map(({ started }) => `${started.jobId} ${started.token}`));
    return [...jobsOf(evidence).values()].flatMap(({ id, run, result }) => {
      const token = run['fencing_token'];
      // Without a token it did not run itself: its operation was done already.
      if (run['status'] !== 'done' || token === undefined) return [];
      if (!ran.has(`${id} ${token}`)) return [`${id} is done by token ${token}, under which nobody ran it`];
      const written = result === undefined ? undefined : (JSON.parse(result) as TaskResult).token;
      return String(written) === token ? [] : [`${id} has token ${token} and the result of ${written}`];
    });
  },
};
