/** An enqueue that is repeated with its id gives one job. */
import type { Check } from '../evidence.js';
import { entriesOf, groupBy } from '../runs.js';

export const storedOnce: Check = {
  name: 'an enqueue lands at most once',
  promise:
    'However often an id is enqueued, also after an unknown outcome, one call at most stores a new job.',
  needsEveryWrite: true,
  find: (evidence) => {
    const stored = entriesOf(evidence, 'enqueue_acknowledged').filter(({ duplicate }) => !duplicate);
    return [...groupBy(stored, ({ jobId }) => jobId)]
      .filter(([, acknowledgements]) => acknowledgements.length > 1)
      .map(([id, { length }]) => `${id} was stored ${length} times`);
  },
};
