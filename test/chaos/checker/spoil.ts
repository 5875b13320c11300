/** Ways to spoil a good history. */
import type { HistoryFact } from '../history/entry.js';
import type { Check } from './evidence.js';
import type { Line, Spoiled } from './good-evidence.js';

/** What happened instead, which check must notice, and how it is done to the good evidence. */
export type BadCase = readonly [what: string, caughtBy: Check, Spoiled];

export const add =
  (...lines: readonly Line[]): NonNullable<Spoiled['lines']> =>
  (all) => [...all, ...lines];
export const change =
  (is: (fact: HistoryFact, at: number) => boolean, to: (line: Line) => Line): NonNullable<Spoiled['lines']> =>
  (all) =>
    all.map((line) => (is(line[2], line[0]) ? to(line) : line));
export const drop =
  (is: (fact: HistoryFact) => boolean): NonNullable<Spoiled['lines']> =>
  (all) =>
    all.filter(([, , fact]) => !is(fact));
export const isEvent = (name: string, id: string) => (fact: HistoryFact) =>
  fact.kind === 'event' && fact.event === name && fact.jobId === id;
