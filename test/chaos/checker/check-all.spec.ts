/** The checker itself: silent about a good history, and no lie gets past it. */
import { describe, expect, it } from '@jest/globals';
import { BAD_HISTORIES } from './bad-histories.js';
import { BAD_STATES } from './bad-states.js';
import { CHECKS, violationsIn } from './check-all.js';
import { evidence } from './good-evidence.js';

const BAD_CASES = [...BAD_STATES, ...BAD_HISTORIES];

describe('the checker of chaos runs', () => {
  it('finds nothing in a history in which every promise is kept', () => {
    expect(violationsIn(evidence())).toEqual([]);
  });

  it.each(BAD_CASES)('notices that %s', (_what, caughtBy, spoiled) => {
    expect(caughtBy.find(evidence(spoiled))).not.toEqual([]);
    expect(violationsIn(evidence(spoiled))).toContainEqual(expect.stringContaining(caughtBy.name));
  });

  it.each(CHECKS)('has a bad history for: $name', (check) => {
    expect(BAD_CASES.some(([, caughtBy]) => caughtBy === check)).toBe(true);
  });

  it('does not blame the product for what Redis lost after acknowledging it', () => {
    const without = ['{jobs}:job:plain', '{jobs}:run:plain', '{jobs}:result:plain'];
    const found = violationsIn(evidence({ without, more: { mayLose: true } }));
    expect(found.join()).not.toContain('no accepted job is lost');
    // But a list that still names it is the product's.
    expect(found.join()).toContain('each job is in exactly one state');
  });
});
