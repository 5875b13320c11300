/** A short history in which every promise is kept, for the tests of the checker to spoil. */
import type { HistoryFact } from '../history/entry.js';
import type { FinalState, StoredKey } from '../world/final-state.js';
import type { Evidence } from './evidence.js';

/** [ms, who, what] */
export type Line = readonly [at: number, by: string, fact: HistoryFact];

const MAX_ATTEMPTS = 3;
const asked = { maxAttempts: MAX_ATTEMPTS };

/**
 * `plain` runs once; `again` loses its lease in worker-1, which is stopped, and runs again in worker-2, as does
 * `keyed` for its resource; `twice` fails once; `late` is delayed; `once-a` does an operation that `once-b` gets.
 */
export const GOOD_LINES: readonly Line[] = [
  [0, 'worker-1', { kind: 'booted', role: 'worker', pid: 101 }],
  [0, 'producer-1', { kind: 'booted', role: 'producer', pid: 103 }],
  ...enqueued(10, 'plain'),
  [12, 'producer-1', { kind: 'enqueue_attempted', jobId: 'refused', asked }],
  [13, 'producer-1', { kind: 'enqueue_refused', jobId: 'refused', code: 'ENQUEUE_REFUSED' }],
  ...enqueued(14, 'again'),
  ...enqueued(16, 'twice'),
  ...enqueued(18, 'late', { delayMs: 500 }),
  ...enqueued(20, 'once-a', { idempotencyKey: 'once' }),
  ...enqueued(22, 'once-b', { idempotencyKey: 'once' }),
  [24, 'producer-1', { kind: 'enqueue_attempted', jobId: 'unheard', asked }],
  [25, 'producer-1', { kind: 'enqueue_unknown', jobId: 'unheard', code: 'ENQUEUE_UNKNOWN' }],
  ...ran(30, 'worker-1', 'plain', 1001),
  started(40, 'worker-1', 'again', 1002, 1),
  [41, 'worker-1', { kind: 'lock_acquired', name: 'door', token: 50, heldUntil: 941 }],
  [42, 'rows', { kind: 'row_written', row: 'row', token: 1002, accepted: true }],
  [100, 'worker-1', { kind: 'run_acted', jobId: 'again', token: 1002, aborted: false }],
  [110, 'world', { kind: 'fault', fault: 'SIGSTOP', target: 'worker-1' }],
  [120, 'worker-2', { kind: 'booted', role: 'worker', pid: 102 }],
  ...failed(130, 'worker-2', 'twice', 1003),
  ...ran(400, 'worker-2', 'twice', 1004, 2),
  ...ran(520, 'worker-2', 'late', 1005, 1, { delayMs: 500 }),
  ...ran(600, 'worker-2', 'once-a', 1006, 1, { idempotencyKey: 'once' }),
  [610, 'worker-2', { kind: 'event', event: 'replayed', jobId: 'once-b' }],
  [1600, 'worker-2', { kind: 'event', event: 'reaped', jobId: 'again', token: 1002, attempt: 1 }],
  started(1610, 'worker-2', 'again', 1007, 2),
  [1611, 'worker-2', { kind: 'lock_acquired', name: 'door', token: 60, heldUntil: 2511 }],
  [1612, 'rows', { kind: 'row_written', row: 'row', token: 1007, accepted: true }],
  [1613, 'worker-2', { kind: 'operation_started', key: 'op', token: 70 }],
  [1614, 'worker-2', { kind: 'operation_done', key: 'op', result: '70' }],
  [1615, 'worker-2', { kind: 'lock_left', name: 'door', token: 60, heldUntil: 2511, aborted: false }],
  [1616, 'worker-2', { kind: 'fenced_set', key: 'door', token: 60 }],
  [1620, 'worker-2', { kind: 'run_ended', jobId: 'again', token: 1007, aborted: false, threw: false }],
  [1621, 'worker-2', { kind: 'event', event: 'done', jobId: 'again', token: 1007, attempt: 2 }],
  [1700, 'rows', { kind: 'row_written', row: 'row', token: 1002, accepted: false }],
  [1701, 'worker-1', { kind: 'run_acted', jobId: 'again', token: 1002, aborted: true }],
  [1702, 'worker-1', { kind: 'run_ended', jobId: 'again', token: 1002, aborted: true, threw: true }],
  [2000, 'world', { kind: 'healed' }],
  [3000, 'world', { kind: 'drained' }],
  [3001, 'world', { kind: 'connections', target: 'worker-1', open: 3, needed: 3 }],
  [3100, 'world', { kind: 'exited', target: 'worker-1', code: 0, tookMs: 50 }],
];

const done = (id: string, token: number, attempt: number, more: Record<string, string> = {}) => ({
  [`{jobs}:job:${id}`]: text('{}'),
  [`{jobs}:run:${id}`]: hash({
    status: 'done',
    fencing_token: String(token),
    attempt: String(attempt),
    ...more,
  }),
  [`{jobs}:result:${id}`]: text(`{"token":${token}}`),
});

export const GOOD_FINAL: FinalState = {
  ...done('plain', 1001, 1),
  ...done('twice', 1004, 2),
  ...done('late', 1005, 1),
  ...done('once-a', 1006, 1, { idempotency_key: 'once' }),
  ...done('again', 1007, 2),
  '{jobs}:job:once-b': text('{}'),
  '{jobs}:run:once-b': hash({ status: 'done', idempotency_key: 'once' }),
  '{jobs}:result:once-b': text('{"token":1006}'),
  '{jobs}:done': zset('plain', 'twice', 'late', 'once-a', 'once-b', 'again'),
  '{jobs}:fence': text('1007'),
  '{jobs}:stats': hash({ enqueued: '6', done: '6', lost_leases: '1', retried: '1' }),
  '{jobs}:stats:29500000': hash({ enqueued: '6' }, 7_000),
  '{jobs}:idempotency:once': hash({ state: 'done' }, 86_000),
  '{jobs}:meta': hash({ version: '1' }),
  'lock:{door}:fence': text('60', 3_000),
  'fenced:{door}:value': hash({ value: '60', fencing_token: '60' }),
};

export interface Spoiled {
  readonly lines?: (lines: readonly Line[]) => readonly Line[];
  readonly final?: FinalState;
  readonly without?: readonly string[];
  readonly more?: Partial<Evidence>;
}

export function evidence({ lines = (all) => all, final = {}, without = [], more }: Spoiled = {}): Evidence {
  const entries = lines(GOOD_LINES).map(([at, by, fact]) => ({ at, by, ...fact }));
  const kept = Object.entries({ ...GOOD_FINAL, ...final }).filter(([key]) => !without.includes(key));
  return {
    entries: entries.toSorted((a, b) => a.at - b.at),
    final: Object.fromEntries(kept),
    openConnections: 0,
    complaints: [],
    leaseMs: 1_500,
    drainWithinMs: 7_500,
    mayLose: false,
    ...more,
  };
}

export function text(value: string, ttlMs = -1): StoredKey {
  return { type: 'string', text: value, ttlMs };
}

export function hash(fields: Record<string, string>, ttlMs = -1): StoredKey {
  return { type: 'hash', fields, ttlMs };
}

export function zset(...members: string[]): StoredKey {
  return { type: 'zset', scores: Object.fromEntries(members.map((member) => [member, 1])), ttlMs: -1 };
}

export function list(...items: string[]): StoredKey {
  return { type: 'list', items, ttlMs: -1 };
}

function enqueued(at: number, jobId: string, options: object = {}): Line[] {
  return [
    [at, 'producer-1', { kind: 'enqueue_attempted', jobId, asked: { ...asked, ...options } }],
    [at + 1, 'producer-1', { kind: 'enqueue_acknowledged', jobId, storedId: jobId, duplicate: false }],
  ];
}

export function started(
  at: number,
  by: string,
  jobId: string,
  token: number,
  attempt: number,
  options: object = {},
): Line {
  const more = { ...asked, ...options };
  return [at, by, { kind: 'run_started', jobId, token, attempt, workerId: by, asked: more }];
}

export function ran(
  at: number,
  by: string,
  jobId: string,
  token: number,
  attempt = 1,
  options: object = {},
): Line[] {
  return [
    started(at, by, jobId, token, attempt, options),
    [at + 1, by, { kind: 'run_ended', jobId, token, aborted: false, threw: false }],
    [at + 2, by, { kind: 'event', event: 'done', jobId, token, attempt }],
  ];
}

function failed(at: number, by: string, jobId: string, token: number): Line[] {
  return [
    started(at, by, jobId, token, 1),
    [at + 1, by, { kind: 'run_ended', jobId, token, aborted: false, threw: true }],
    [at + 2, by, { kind: 'event', event: 'retry_scheduled', jobId, token, attempt: 1, delayMs: 100 }],
  ];
}
