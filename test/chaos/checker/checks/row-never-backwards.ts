/** A fenced row in an external store never goes back, and neither does a fenced value. */
import type { Check, Evidence } from '../evidence.js';
import { entriesOf, groupBy } from '../runs.js';
import { fieldsOf } from '../stored.js';

export const rowNeverBackwards: Check = {
  name: 'a fenced row never goes backwards',
  promise:
    "The store refuses exactly the writes of those who were overtaken; what it keeps is the last holder's.",
  needsEveryWrite: false,
  find: (evidence) => [...rows(evidence), ...values(evidence)],
};

function rows(evidence: Evidence): string[] {
  return [...groupBy(entriesOf(evidence, 'row_written'), ({ row }) => row)].flatMap(([row, writes]) => {
    let fence = 0;
    return writes.flatMap(({ token, accepted }) => {
      const mayWrite = token >= fence;
      if (mayWrite) fence = token;
      return mayWrite === accepted
        ? []
        : [`${row}: token ${token} was ${accepted ? 'accepted' : 'refused'} at ${fence}`];
    });
  });
}

function values(evidence: Evidence): string[] {
  // Redis may have forgotten an acknowledged write; then a lower one is no step back of the product.
  if (evidence.mayLose) return [];
  return [...groupBy(entriesOf(evidence, 'fenced_set'), ({ key }) => key)].flatMap(([key, writes]) => {
    const { fencing_token: stored = '0', value } = fieldsOf(evidence.final[`fenced:{${key}}:value`]);
    const highest = Math.max(...writes.map(({ token }) => token));
    if (Number(stored) < highest) return [`${key}: ${highest} was acknowledged and ${stored} is stored`];
    return value === stored ? [] : [`${key}: the value of ${value} is stored under ${stored}`];
  });
}
