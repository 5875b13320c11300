/** Promise 3: what was disturbed comes back by itself. */
import type { Check } from '../evidence.js';
import { entriesOf } from '../runs.js';

export const drainsInTime: Check = {
  name: 'everything drains in time',
  promise:
    'After healing all jobs end within lease + reap interval + 5 s, without anybody restarting anything.',
  needsEveryWrite: false,
  find: (evidence) => {
    const healed = entriesOf(evidence, 'healed').at(-1);
    const drained = entriesOf(evidence, 'drained').at(-1);
    if (!healed || !drained) return ['it never drained'];
    const ms = Math.round(drained.at - healed.at);
    return ms > evidence.drainWithinMs ? [`it took ${ms} ms instead of ${evidence.drainWithinMs}`] : [];
  },
};
