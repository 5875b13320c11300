/** One small lie per line: what happened instead, and which check must notice. */
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
import type { Check } from './evidence.js';
import { hash, list, ran, started, text, zset, type Line, type Spoiled } from './good-evidence.js';
import type { HistoryFact } from '../history/entry.js';

const add =
  (...lines: readonly Line[]): NonNullable<Spoiled['lines']> =>
  (all) => [...all, ...lines];
const change =
  (is: (fact: HistoryFact, at: number) => boolean, to: (line: Line) => Line): NonNullable<Spoiled['lines']> =>
  (all) =>
    all.map((line) => (is(line[2], line[0]) ? to(line) : line));
const drop =
  (is: (fact: HistoryFact) => boolean): NonNullable<Spoiled['lines']> =>
  (all) =>
    all.filter(([, , fact]) => !is(fact));
const isEvent = (name: string, id: string) => (fact: HistoryFact) =>
  fact.kind === 'event' && fact.event === name && fact.jobId === id;

export const BAD_HISTORIES: readonly (readonly [what: string, caughtBy: Check, Spoiled])[] = [
  [
    'an acknowledged job is gone',
    noJobLost,
    { without: ['{jobs}:job:plain', '{jobs}:run:plain', '{jobs}:result:plain'] },
  ],
  ['a job is still processing', noJobLost, { final: { '{jobs}:run:plain': hash({ status: 'processing' }) } }],
  ['a job without a run is still queued', noJobLost, { without: ['{jobs}:run:plain'] }],
  ['a job that nobody enqueued', nothingInvented, { final: { '{jobs}:job:ghost': text('{}') } }],
  [
    'a run of a job that nobody enqueued',
    nothingInvented,
    { lines: add(...ran(2_500, 'worker-2', 'ghost', 2_000)) },
  ],
  ['a refused job is stored', refusedNotStored, { final: { '{jobs}:job:refused': text('{}') } }],
  ['a refused job runs', refusedNotStored, { lines: add(...ran(2_500, 'worker-2', 'refused', 2_000)) }],
  [
    'the same id is stored twice',
    storedOnce,
    {
      lines: add([
        30,
        'producer-1',
        { kind: 'enqueue_acknowledged', jobId: 'plain', storedId: 'plain', duplicate: false },
      ]),
    },
  ],
  ['a done job is also queued', oneState, { final: { '{jobs}:queued:5': list('plain') } }],
  ['a job stands twice in a list', oneState, { final: { '{jobs}:queued:5': list('plain', 'plain') } }],
  ['a job stands nowhere', oneState, { final: { '{jobs}:done': zset('plain') } }],
  [
    'its status is another one than its place',
    oneState,
    { final: { '{jobs}:run:plain': hash({ status: 'dead' }) } },
  ],
  ['an entry has no job', oneState, { final: { '{jobs}:dead': zset('nobody') } }],
  ['a lock is left', noOrphanKey, { final: { '{jobs}:lock:resource:r': text('1001 plain') } }],
  ['a dedup key is left', noOrphanKey, { final: { '{jobs}:dedup:d': hash({ job_id: 'plain' }) } }],
  ['a waiting list is left', noOrphanKey, { final: { '{jobs}:waiting:resource:r': list('plain') } }],
  ['leases of a worker are left', noOrphanKey, { final: { '{jobs}:held:w': hash({ plain: '1001:0:1' }) } }],
  [
    'an operation that nobody does is left',
    noOrphanKey,
    { final: { '{jobs}:idempotency:x': hash({ pending: '1' }) } },
  ],
  ['a result without its job', noOrphanKey, { final: { '{jobs}:result:ghost': text('{}') } }],
  ['a minute of counters stays for ever', noOrphanKey, { final: { '{jobs}:stats:1': hash({}) } }],
  [
    'a worker that ended is on record',
    noOrphanKey,
    { final: { '{jobs}:workers': zset('host-101-abcd1234') } },
  ],
  ['a record of a worker nobody lists', noOrphanKey, { final: { '{jobs}:worker:w': hash({ pid: '1' }) } }],
  ['a key that nobody knows', noOrphanKey, { final: { '{jobs}:something': text('') } }],
  ['a lock outside of queues is still held', noOrphanKey, { final: { 'lock:{door}:holder': hash({}, 500) } }],
  ['the counter of a lock never expires', noOrphanKey, { final: { 'lock:{door}:fence': text('60') } }],
  ['a job was counted twice', countsAgree, { final: { '{jobs}:stats': hash({ enqueued: '6', done: '7' }) } }],
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
