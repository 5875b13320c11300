/** The verdict on a chaos run: every promise, checked from outside. */
import { attemptsBounded } from './checks/attempts-bounded.js';
import { countsAgree } from './checks/counts-agree.js';
import { drainsInTime } from './checks/drains-in-time.js';
import { noJobLost } from './checks/no-job-lost.js';
import { noOrphanKey } from './checks/no-orphan-key.js';
import { notBeforeDue } from './checks/not-before-due.js';
import { nothingInvented } from './checks/nothing-invented.js';
import { nothingLeaks } from './checks/nothing-leaks.js';
import { oneLockHolder } from './checks/one-lock-holder.js';
import { oneRunAtATime } from './checks/one-run-at-a-time.js';
import { oneState } from './checks/one-state.js';
import { operationOnce } from './checks/operation-once.js';
import { refusedNotStored } from './checks/refused-not-stored.js';
import { resultOfLastRun } from './checks/result-of-last-run.js';
import { rowNeverBackwards } from './checks/row-never-backwards.js';
import { secondRunExplained } from './checks/second-run-explained.js';
import { staleChangeRefused } from './checks/stale-change-refused.js';
import { storedOnce } from './checks/stored-once.js';
import { tokensIncrease } from './checks/tokens-increase.js';
import type { Check, Evidence } from './evidence.js';

export const CHECKS: readonly Check[] = [
  noJobLost,
  nothingInvented,
  refusedNotStored,
  storedOnce,
  oneState,
  noOrphanKey,
  countsAgree,
  oneRunAtATime,
  oneLockHolder,
  tokensIncrease,
  staleChangeRefused,
  resultOfLastRun,
  rowNeverBackwards,
  secondRunExplained,
  attemptsBounded,
  notBeforeDue,
  operationOnce,
  drainsInTime,
  nothingLeaks,
];

const SHOWN = 5;

/** One line per promise that was broken, with some of what broke it. Empty: all were kept. */
export function violationsIn(evidence: Evidence): string[] {
  return CHECKS.filter(({ needsEveryWrite }) => !(needsEveryWrite && evidence.mayLose)).flatMap(
    ({ name, find }) => {
      const found = find(evidence);
      return found.length === 0 ? [] : [`${name} (${found.length}): ${found.slice(0, SHOWN).join('; ')}`];
    },
  );
}
