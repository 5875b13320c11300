/** The tables of docs/job-lifecycle.md against the transitions in the code, which the contract suite demands of the stores. */
import { describe, expect, it } from '@jest/globals';
import { JOB_STATUSES, TRANSITIONS, type JobStatus, type Operation } from '#lib/job/job.js';
import { OUTCOMES } from '../contract/contract-store.js';
import { OPERATION_CASES } from '../contract/transition-cases.js';
import { codeSpans, readDocument, type Row, table } from './markdown.js';

const DOCUMENT = readDocument('docs/job-lifecycle.md');
const rows = table(DOCUMENT, 'Operation', '## Transitions');

/** Operations that move jobs and have no row in `TRANSITIONS`: one has no state to start from, one no caller. */
const OTHERS = ['enqueue', 'prune'];

const operationOf = ({ Operation: cell }: Row): string => codeSpans(cell)[0] ?? '';
const outcomeOf = ({ Operation: cell }: Row): string | undefined => codeSpans(cell)[1];
const fromOf = ({ From }: Row): string[] => codeSpans(From);
/** `gone` is no state, so it is written as a word. */
const toOf = ({ To = '' }: Row): string[] => (To === 'gone' ? [To] : codeSpans(To));
const rowsOf = (operation: string): Row[] => rows.filter((row) => operationOf(row) === operation);

describe('docs/job-lifecycle.md', () => {
  it('explains every state', () => {
    expect(table(DOCUMENT, 'State').flatMap(({ State }) => codeSpans(State))).toEqual([...JOB_STATUSES]);
  });

  it('has a row for every operation and no other', () => {
    expect(new Set(rows.map(operationOf))).toEqual(new Set([...Object.keys(TRANSITIONS), ...OTHERS]));
  });

  it.each(Object.keys(TRANSITIONS) as Operation[])('says from where %s is possible', (operation) => {
    const from = new Set(rowsOf(operation).flatMap(fromOf));
    expect(from).toEqual(new Set<string>(TRANSITIONS[operation]));
  });

  it('has a row for every outcome of an attempt', () => {
    expect(new Set(rowsOf('settle').map(outcomeOf))).toEqual(new Set(Object.keys(OUTCOMES)));
  });

  it('says where each operation leads', () => {
    for (const { name, operation, accepted } of OPERATION_CASES) {
      const [, , outcome] = /^settle (as) (\w+)$/.exec(name) ?? [];
      // Renewing and writing a checkpoint are allowed where settling is, and move nothing.
      if (operation === 'settle' && outcome === undefined) continue;
      for (const from of TRANSITIONS[operation] as readonly JobStatus[]) {
        const matching = rowsOf(operation).filter((row) => outcomeOf(row) === outcome);
        const [, to] = accepted(from);
        expect([name, from, matching.flatMap(toOf)]).toEqual([name, from, expect.arrayContaining([to])]);
      }
    }
  });

  it('names no state that does not exist', () => {
    const known: readonly string[] = [...JOB_STATUSES, 'gone'];
    for (const row of rows) {
      for (const status of [...fromOf(row), ...toOf(row)]) expect(known).toContain(status);
    }
  });
});
