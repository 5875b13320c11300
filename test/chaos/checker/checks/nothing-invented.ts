/** Jobs come from producers only. */
import type { Check } from '../evidence.js';
import { entriesOf, runsByJob } from '../runs.js';
import { jobsOf } from '../stored.js';

export const nothingInvented: Check = {
  name: 'nothing appears that was not enqueued',
  promise: 'Every job in Redis, and every job that ran, is one that a producer tried to enqueue.',
  needsEveryWrite: false,
  find: (evidence) => {
    const attempted = new Set(entriesOf(evidence, 'enqueue_attempted').map(({ jobId }) => jobId));
    const seen = new Set([...jobsOf(evidence).keys(), ...runsByJob(evidence).keys()]);
    return [...seen].filter((id) => !attempted.has(id)).map((id) => `${id} was never enqueued`);
  },
};
