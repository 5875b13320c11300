/** At most one unexpired lease per lock. */
import type { Check } from '../evidence.js';
import { entriesOf, groupBy, pairsOf } from '../runs.js';

export const oneLockHolder: Check = {
  name: 'one holder per lock',
  promise: 'The times between getting a lock and giving it back, or its deadline, never overlap.',
  needsEveryWrite: true,
  find: (evidence) => {
    const left = groupBy(entriesOf(evidence, 'lock_left'), ({ name, token }) => `${name} ${token}`);
    const holdings = entriesOf(evidence, 'lock_acquired').map(({ name, token, at, by, heldUntil }) => {
      const end = left.get(`${name} ${token}`)?.[0];
      // One that died held it until its deadline: nobody may have had it before, alive or not.
      return { name, token, at, by, until: Math.min(end?.at ?? Infinity, end?.heldUntil ?? heldUntil) };
    });
    return [...groupBy(holdings, ({ name }) => name)].flatMap(([name, list]) =>
      pairsOf(list.toSorted((a, b) => a.at - b.at))
        .filter(([first, second]) => second.at < first.until)
        .map(([first, second]) => `${name}: ${second.by} got it while ${first.by} held it`),
    );
  },
};
