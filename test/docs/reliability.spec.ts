/** docs/reliability.md names every check of the chaos harness as it is. */
import { describe, expect, it } from '@jest/globals';
import { BAD_HISTORIES } from '../chaos/checker/bad-histories.js';
import { BAD_STATES } from '../chaos/checker/bad-states.js';
import { CHECKS } from '../chaos/checker/check-all.js';
import { readDocument, table } from './markdown.js';

describe('docs/reliability.md', () => {
  const text = readDocument('docs/reliability.md');

  it('lists the checks with what they demand', () => {
    const rows = table(text, 'Check').map((row) => [row['Check'], row['What it demands']]);
    expect(rows).toEqual(CHECKS.map(({ name, promise }) => [name, promise]));
  });

  it('knows how many bad histories there are', () => {
    expect(text).toContain(`and with ${BAD_STATES.length + BAD_HISTORIES.length} bad ones`);
  });
});
