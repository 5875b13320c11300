/** What happened although it must not, one lie per line. */
import type { HistoryFact } from '../history/entry.js';
import { attemptsBounded } from './checks/attempts-bounded.js';
import { drainsInTime } from './checks/drains-in-time.js';
import { notBeforeDue } from './checks/not-before-due.js';
import { nothingLeaks } from './checks/nothing-leaks.js';
import { oneLockHolder } from './checks/one-lock-holder.js';
import { oneRunAtATime } from './checks/one-run-at-a-time.js';
import { operationOnce } from './checks/operation-once.js';
import { resultOfLastRun } from './checks/result-of-last-run.js';
import { rowNeverBackwards } from './checks/row-never-backwards.js';
import { secondRunExplained } from './checks/second-run-explained.js';
import { staleChangeRefused } from './checks/stale-change-refused.js';
import { tokensIncrease } from './checks/tokens-increase.js';
import { hash, ran, started, text } from './good-evidence.js';
import { add, change, drop, isEvent, type BadCase } from './spoil.js';

export const BAD_HISTORIES: readonly BadCase[] = [
  [
    'an overtaken run acts without knowing it',
    oneRunAtATime,
    {
      lines: change(
        (fact, at) => fact.kind === 'run_acted' && at === 1701,
        ([at, by, fact]) => [at, by, { ...fact, aborted: false } as HistoryFact],
      ),
    },
  ],
  [
    'two jobs of one resource run at once',
    oneRunAtATime,
    {
      lines: add(
        started(2_500, 'worker-2', 'plain', 2_000, 2, { resourceKey: 'r' }),
        started(2_510, 'worker-2', 'late', 2_001, 2, { resourceKey: 'r' }),
        [2_520, 'worker-2', { kind: 'run_acted', jobId: 'plain', token: 2_000, aborted: false }],
      ),
    },
  ],
  [
    'a lock is given away while it is held',
    oneLockHolder,
    { lines: add([500, 'worker-2', { kind: 'lock_acquired', name: 'door', token: 55, heldUntil: 1_400 }]) },
  ],
  [
    'a renewed lock is given away before its deadline',
    oneLockHolder,
    {
      lines: add(
        [2_000, 'worker-1', { kind: 'lock_acquired', name: 'door', token: 61, heldUntil: 2_900 }],
        [2_950, 'worker-2', { kind: 'lock_acquired', name: 'door', token: 62, heldUntil: 3_900 }],
        [3_000, 'worker-1', { kind: 'lock_left', name: 'door', token: 61, heldUntil: 3_800, aborted: false }],
      ),
    },
  ],
  ['a token is used twice', tokensIncrease, { lines: add(...ran(2_500, 'worker-2', 'unheard', 1007)) }],
  ['the tokens of a job go down', tokensIncrease, { lines: add(...ran(2_500, 'worker-2', 'again', 900, 3)) }],
  [
    'the tokens of a lock go down',
    tokensIncrease,
    { lines: add([2_600, 'worker-2', { kind: 'lock_acquired', name: 'door', token: 59, heldUntil: 3_500 }]) },
  ],
  [
    'the tokens of an operation go down',
    tokensIncrease,
    { lines: add([2_600, 'worker-2', { kind: 'operation_started', key: 'op', token: 69 }]) },
  ],
  [
    'a process that came later gets a lower one',
    tokensIncrease,
    {
      lines: add(
        [2_600, 'worker-3', { kind: 'booted', role: 'worker', pid: 104 }],
        ...ran(2_700, 'worker-3', 'unheard', 999),
      ),
    },
  ],
  ["the queue's counter is behind", tokensIncrease, { final: { '{jobs}:fence': text('1006') } }],
  [
    'an overtaken run ends the job',
    staleChangeRefused,
    { lines: add([1_703, 'worker-1', { kind: 'event', event: 'released', jobId: 'again', token: 1002 }]) },
  ],
  [
    'a job ends twice',
    staleChangeRefused,
    { lines: add([2_500, 'worker-1', { kind: 'event', event: 'dead', jobId: 'plain', token: 1001 }]) },
  ],
  ['a result of another run', resultOfLastRun, { final: { '{jobs}:result:again': text('{"token":1002}') } }],
  ['a job is done that nobody ran', resultOfLastRun, { lines: drop((fact) => fact.kind === 'run_started') }],
  [
    'a row accepts a lower token',
    rowNeverBackwards,
    {
      lines: change(
        (fact) => fact.kind === 'row_written' && !fact.accepted,
        ([at, by, fact]) => [at, by, { ...fact, accepted: true } as HistoryFact],
      ),
    },
  ],
  [
    'a row refuses its holder',
    rowNeverBackwards,
    { lines: add([1_800, 'rows', { kind: 'row_written', row: 'row', token: 1008, accepted: false }]) },
  ],
  [
    'a fenced value went back',
    rowNeverBackwards,
    { final: { 'fenced:{door}:value': hash({ value: '50', fencing_token: '50' }) } },
  ],
  [
    'a fenced value is not of its token',
    rowNeverBackwards,
    { final: { 'fenced:{door}:value': hash({ value: '50', fencing_token: '60' }) } },
  ],
  [
    'a job runs again for no reason',
    secondRunExplained,
    {
      lines: drop(isEvent('retry_scheduled', 'twice')),
      final: { '{jobs}:stats': hash({ enqueued: '6', done: '6', lost_leases: '1' }) },
    },
  ],
  ['a run beyond the limit', attemptsBounded, { lines: add(started(2_500, 'worker-2', 'again', 2_000, 4)) }],
  ['more runs than attempts', attemptsBounded, { lines: add(started(2_500, 'worker-2', 'again', 2_000, 2)) }],
  [
    'a delayed job starts early',
    notBeforeDue,
    {
      lines: change(
        (fact) => fact.kind === 'run_started' && fact.jobId === 'late',
        ([, by, fact]) => [450, by, fact],
      ),
    },
  ],
  [
    'a retry starts early',
    notBeforeDue,
    {
      lines: change(
        (fact) => fact.kind === 'run_started' && fact.token === 1004,
        ([, by, fact]) => [220, by, fact],
      ),
    },
  ],
  [
    'an operation is done again',
    operationOnce,
    { lines: add([2_500, 'worker-2', { kind: 'operation_started', key: 'op', token: 80 }]) },
  ],
  [
    'an operation has two results',
    operationOnce,
    { lines: add([2_500, 'worker-2', { kind: 'operation_done', key: 'op', result: '71' }]) },
  ],
  [
    'a job does an operation again',
    operationOnce,
    { lines: add(...ran(2_500, 'worker-2', 'once-b', 2_000, 1, { idempotencyKey: 'once' })) },
  ],
  [
    'a job gets another result of its operation',
    operationOnce,
    { final: { '{jobs}:result:once-b': text('{"token":1}') } },
  ],
  [
    'it drains too late',
    drainsInTime,
    {
      lines: change(
        (fact) => fact.kind === 'drained',
        ([, by, fact]) => [9_600, by, fact],
      ),
    },
  ],
  ['it never drains', drainsInTime, { lines: drop((fact) => fact.kind === 'drained') }],
  [
    'a process does not end',
    nothingLeaks,
    { lines: add([3_200, 'world', { kind: 'exited', target: 'worker-2', code: null, tookMs: 15_000 }]) },
  ],
  [
    'a process dies by itself',
    nothingLeaks,
    { lines: add([1_000, 'world', { kind: 'died', target: 'worker-1', code: 1, output: 'Error' }]) },
  ],
  [
    'a process has a connection too many',
    nothingLeaks,
    { lines: add([3_001, 'world', { kind: 'connections', target: 'worker-2', open: 4, needed: 3 }]) },
  ],
  ['a connection is left at Redis', nothingLeaks, { more: { openConnections: 1 } }],
  ['a process complains', nothingLeaks, { more: { complaints: ['worker-1: UnhandledPromiseRejection'] } }],
];
