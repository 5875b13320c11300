/** The commands of the model test of jobs, as plain data, and how fast-check makes them up. */
import fc from 'fast-check';
import { JOB_STATUSES, type JobStatus } from '#lib/job/job.js';
import type { Outcome } from '#lib/job/outcome.js';
import type { JobKeys, NewJob } from '#lib/store/new-job.js';
import { ERROR, newJob, once, unique } from '../contract/contract-store.js';

/**
 * One of the attempts that have not ended, or a stale one, of a job that runs again if there is any; counted from the
 * latest on.
 */
export interface AttemptChoice {
  readonly from: 'running' | 'stale';
  readonly back: number;
}

/** Somewhere in the list of that status, so that commands mostly meet a job; any job when that list is empty. */
export interface JobChoice {
  readonly status: JobStatus;
  readonly at: number;
}

/** Who calls: every lane numbers its calls. */
export interface Lane {
  readonly worker: number;
  readonly lane: number;
}

/** `claimMax` 0: the settlements travel alone. */
export interface SettleCommand {
  readonly name: 'settle';
  readonly settlements: readonly { readonly attempt: AttemptChoice; readonly outcome: Outcome }[];
  readonly lane: number;
  readonly claimMax: number;
  readonly leaseMs: number;
}

export type JobCommand =
  | { readonly name: 'enqueue'; readonly jobs: readonly NewJob[] }
  /** Its reply was lost: the same jobs, under their ids. */
  | { readonly name: 'enqueue again' }
  | { readonly name: 'claim'; readonly from: Lane; readonly claimMax: number; readonly leaseMs: number }
  | SettleCommand
  /** Its reply was lost: the last call of the lane, under its number. */
  | { readonly name: 'call again'; readonly from: Lane }
  /** It lay about on the network: a call with a number before the last one. */
  | {
      readonly name: 'call late';
      readonly from: Lane;
      readonly attempt: AttemptChoice;
      readonly claimMax: number;
    }
  | {
      readonly name: 'renew';
      /** Where there is no attempt, which else says whose heartbeat it is. */
      readonly worker: number;
      readonly attempts: readonly AttemptChoice[];
      readonly leaseMs: number;
    }
  | { readonly name: 'sign off'; readonly worker: number }
  | { readonly name: 'checkpoint'; readonly attempt: AttemptChoice; readonly value: string }
  | { readonly name: 'reap'; readonly silenceMs: number; readonly limit: number }
  | { readonly name: 'promote' | 'prune'; readonly limit: number }
  | { readonly name: 'cancel' | 'remove' | 'redrive'; readonly job: JobChoice }
  | { readonly name: 'pause' | 'resume' | 'count' }
  /** An idle worker looks whether it was woken. */
  | { readonly name: 'listen' }
  | { readonly name: 'recent'; readonly windowMs: number }
  | {
      readonly name: 'page through';
      readonly status: JobStatus;
      readonly limit: number;
      readonly order: 'oldest' | 'newest';
    }
  | { readonly name: 'pass'; readonly ms: number };

/** Used again and again, so that jobs are duplicates by id, and live twice. */
const SHARED_IDS = ['j0', 'j1', 'j2', 'j3'];
/** Becomes an id that no job had before. */
export const FRESH = 'fresh';

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
const HOUR_MS = 60 * MINUTE_MS;

const jobId = fc.oneof(
  { weight: 3, arbitrary: fc.constant(FRESH) },
  { weight: 1, arbitrary: fc.constantFrom(...SHARED_IDS) },
);
const jobIn = (statuses: readonly JobStatus[]): fc.Arbitrary<JobChoice> =>
  fc.record({ status: fc.constantFrom(...statuses), at: fc.nat(5) });
const anyJob = jobIn(JOB_STATUSES);
const deadJob = jobIn(['dead', 'dead', 'dead', 'dead', 'done', 'blocked']);
const attempt: fc.Arbitrary<AttemptChoice> = fc.record({
  from: fc.constantFrom('running', 'running', 'running', 'running', 'stale'),
  back: fc.nat(6),
});
const worker = fc.nat(2);
const lane = fc.constantFrom(0, 0, 0, 1);
const from: fc.Arbitrary<Lane> = fc.record({ worker, lane });
const claimMax = fc.integer({ min: 1, max: 4 });
const leaseMs = fc.constantFrom(SECOND_MS, 30 * SECOND_MS, 30 * SECOND_MS);
const limit = fc.constantFrom(1, 2, 10, 10);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 3 });

const keys: fc.Arbitrary<JobKeys> = fc.record({
  resource: maybe(fc.constantFrom('r0', 'r0', 'r1')),
  idempotency: maybe(
    fc
      .record({
        key: fc.constantFrom('i0', 'i0', 'i1'),
        fingerprint: fc.constantFrom('same', 'same', 'other'),
        ttlMs: fc.constantFrom(SECOND_MS, SECOND_MS, MINUTE_MS, 24 * HOUR_MS),
      })
      .map(({ key, ...changes }) => once(key, changes)),
  ),
  dedup: maybe(
    fc
      .record({
        key: fc.constantFrom('d0', 'd1'),
        type: fc.constantFrom('test', 'test', 'test', 'other'),
        windowMs: fc.constantFrom(undefined, undefined, undefined, SECOND_MS, MINUTE_MS),
        onDuplicate: fc.constantFrom('return', 'reject', 'replace', 'rerun', 'rerun'),
        keepWhenDead: fc.boolean(),
      })
      .map(({ key, ...changes }) => unique(key, changes)),
  ),
});

const job: fc.Arbitrary<NewJob> = fc
  .record({
    id: jobId,
    callerChosenId: fc.boolean(),
    payload: fc.nat(99),
    priority: fc.constantFrom(5, 5, 5, 3),
    delayMs: fc.constantFrom(0, 0, 0, 0, 1, SECOND_MS, 30 * SECOND_MS),
    keys: fc.option(keys, { nil: undefined, freq: 8 }),
  })
  .map(({ id, payload, callerChosenId, ...changes }) =>
    newJob(id, {
      ...changes,
      callerChosenId: callerChosenId || id !== FRESH,
      spec: `{"type":"test","payload":${payload}}`,
    }),
  );

const delayMs = fc.constantFrom(0, 1, SECOND_MS, 30 * SECOND_MS);
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 3, arbitrary: fc.nat(9).map((n): Outcome => ({ kind: 'done', result: `${n}` })) },
  fc.constant<Outcome>({ kind: 'done' }),
  fc.constant<Outcome>({ kind: 'dead', reason: 'permanent_error', error: ERROR }),
  fc.constant<Outcome>({ kind: 'cancelled' }),
  fc.constant<Outcome>({ kind: 'release' }),
  delayMs.map((ms): Outcome => ({ kind: 'retry', delayMs: ms, error: ERROR })),
  delayMs.map((ms): Outcome => ({ kind: 'snooze', delayMs: ms, error: ERROR })),
);

/** Of the shape T, made up from its parts. */
const made = <T extends JobCommand>(arbitrary: fc.Arbitrary<T>): fc.Arbitrary<JobCommand> => arbitrary;

const settle = made<SettleCommand>(
  fc.record({
    name: fc.constant('settle'),
    settlements: fc.array(fc.record({ attempt, outcome }), { minLength: 1, maxLength: 3 }),
    lane,
    claimMax: fc.constantFrom(0, 0, 0, 1, 3),
    leaseMs,
  }),
);

const pass = fc
  .constantFrom(1, 1, 1, SECOND_MS, SECOND_MS, 31 * SECOND_MS, 61 * SECOND_MS, HOUR_MS + 1, 25 * HOUR_MS)
  .map((ms): JobCommand => ({ name: 'pass', ms }));

export const jobCommand: fc.Arbitrary<JobCommand> = fc.oneof(
  {
    weight: 16,
    arbitrary: fc
      .array(job, { minLength: 1, maxLength: 3 })
      .map((jobs): JobCommand => ({ name: 'enqueue', jobs })),
  },
  {
    weight: 16,
    arbitrary: fc
      .record({ from, claimMax, leaseMs })
      .map((claim): JobCommand => ({ name: 'claim', ...claim })),
  },
  { weight: 12, arbitrary: settle },
  { weight: 12, arbitrary: pass },
  { weight: 1, arbitrary: fc.constant<JobCommand>({ name: 'enqueue again' }) },
  { weight: 2, arbitrary: from.map((lost): JobCommand => ({ name: 'call again', from: lost })) },
  {
    weight: 1,
    arbitrary: fc
      .record({ from, attempt, claimMax: fc.nat(1) })
      .map((late): JobCommand => ({ name: 'call late', ...late })),
  },
  {
    weight: 3,
    arbitrary: fc
      .record({ worker, attempts: fc.array(attempt, { maxLength: 3 }), leaseMs })
      .map((renewal): JobCommand => ({ name: 'renew', ...renewal })),
  },
  { weight: 1, arbitrary: worker.map((leaving): JobCommand => ({ name: 'sign off', worker: leaving })) },
  {
    weight: 1,
    arbitrary: fc
      .record({ attempt, value: fc.nat(9).map(String) })
      .map((checkpoint): JobCommand => ({ name: 'checkpoint', ...checkpoint })),
  },
  {
    weight: 6,
    arbitrary: limit.map((most): JobCommand => ({ name: 'reap', silenceMs: 30 * SECOND_MS, limit: most })),
  },
  { weight: 2, arbitrary: limit.map((most): JobCommand => ({ name: 'promote', limit: most })) },
  { weight: 2, arbitrary: limit.map((most): JobCommand => ({ name: 'prune', limit: most })) },
  { weight: 4, arbitrary: anyJob.map((choice): JobCommand => ({ name: 'cancel', job: choice })) },
  { weight: 4, arbitrary: anyJob.map((choice): JobCommand => ({ name: 'remove', job: choice })) },
  { weight: 6, arbitrary: deadJob.map((choice): JobCommand => ({ name: 'redrive', job: choice })) },
  {
    weight: 2,
    arbitrary: fc.constantFrom<JobCommand>(
      { name: 'pause' },
      { name: 'resume' },
      { name: 'resume' },
      { name: 'count' },
    ),
  },
  { weight: 2, arbitrary: fc.constant<JobCommand>({ name: 'listen' }) },
  {
    weight: 1,
    arbitrary: fc
      .constantFrom(1, 2 * MINUTE_MS, 2 * HOUR_MS)
      .map((windowMs): JobCommand => ({ name: 'recent', windowMs })),
  },
  {
    weight: 1,
    arbitrary: fc
      .record({
        status: fc.constantFrom(...JOB_STATUSES),
        limit: fc.integer({ min: 1, max: 3 }),
        order: fc.constantFrom('oldest', 'newest'),
      })
      .map((query): JobCommand => ({ name: 'page through', ...query })),
  },
);

const kept = fc.record({
  count: fc.constantFrom(0, 1, 100, 100),
  ageMs: fc.constantFrom(MINUTE_MS, 24 * HOUR_MS),
});

/** How many ended jobs are kept, for how long. */
export const retention = fc.record({ done: kept, dead: kept, cancelled: kept });
