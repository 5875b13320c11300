/** The commands of the model test, as plain data, and how fast-check makes them up. */
import fc from 'fast-check';
import { JOB_STATUSES, type JobStatus } from '#lib/job/job.js';
import type { Outcome } from '#lib/job/outcome.js';
import type { JobKeys, NewJob } from '#lib/store/new-job.js';
import { ERROR, LONG_MS, newJob, once, unique } from '../contract/contract-store.js';

/** One of the attempts that have not ended, or of all there were, which may be stale; counted from the latest on. */
export interface AttemptChoice {
  readonly from: 'running' | 'all';
  readonly back: number;
}

/** Somewhere in the list of that status, so that commands mostly meet a job. */
export interface JobChoice {
  readonly status: JobStatus;
  readonly at: number;
}

export type Command =
  | { readonly name: 'enqueue'; readonly jobs: readonly NewJob[] }
  | { readonly name: 'claim'; readonly worker: number; readonly max: number; readonly leaseMs: number }
  | { readonly name: 'settle'; readonly settlements: readonly { attempt: AttemptChoice; outcome: Outcome }[] }
  | { readonly name: 'renew'; readonly attempt: AttemptChoice; readonly leaseMs: number }
  | { readonly name: 'reap' | 'promote' | 'prune'; readonly limit: number }
  | { readonly name: 'cancel' | 'remove' | 'redrive'; readonly job: JobChoice }
  | { readonly name: 'pause' | 'resume' };

export interface Scenario {
  readonly retention: { readonly done: number; readonly dead: number; readonly cancelled: number };
  readonly commands: readonly Command[];
}

/** Used again and again, so that jobs are duplicates by id, and live twice. */
const SHARED_IDS = ['j0', 'j1', 'j2', 'j3'];
const FRESH = 'fresh';

/** Over by the next command: the two clocks move on between commands. */
const SOON_MS = 1;
const jobId = fc.oneof(
  { weight: 3, arbitrary: fc.constant(FRESH) },
  { weight: 1, arbitrary: fc.constantFrom(...SHARED_IDS) },
);
const jobIn = (statuses: readonly JobStatus[]): fc.Arbitrary<JobChoice> =>
  fc.record({ status: fc.constantFrom(...statuses), at: fc.nat(5) });
const anyJob = jobIn(JOB_STATUSES);
const deadJob = jobIn(['dead', 'dead', 'dead', 'dead', 'done', 'blocked']);
const attempt: fc.Arbitrary<AttemptChoice> = fc.record({
  from: fc.constantFrom('running', 'running', 'running', 'running', 'all'),
  back: fc.nat(6),
});
const leaseMs = fc.constantFrom(0, LONG_MS, LONG_MS);
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 3 });

const keys: fc.Arbitrary<JobKeys> = fc.record({
  resource: maybe(fc.constantFrom('r0', 'r0', 'r1')),
  idempotency: maybe(
    fc
      .record({
        key: fc.constantFrom('i0', 'i0', 'i1'),
        fingerprint: fc.constantFrom('same', 'same', 'same', 'other'),
      })
      .map(({ key, fingerprint }) => once(key, { fingerprint })),
  ),
  dedup: maybe(
    fc
      .record({
        key: fc.constantFrom('d0', 'd1'),
        type: fc.constantFrom('test', 'test', 'test', 'other'),
        windowMs: fc.constantFrom(undefined, undefined, undefined, LONG_MS),
        onDuplicate: fc.constantFrom('return', 'reject', 'replace', 'rerun', 'rerun'),
        keepWhenDead: fc.boolean(),
      })
      .map(({ key, ...changes }) => unique(key, changes)),
  ),
});

const job: fc.Arbitrary<NewJob> = fc
  .record({
    id: jobId,
    payload: fc.nat(99),
    priority: fc.constantFrom(5, 5, 5, 3),
    delayMs: fc.constantFrom(0, 0, 0, 0, SOON_MS, LONG_MS),
    keys: fc.option(keys, { nil: undefined, freq: 8 }),
  })
  .map(({ id, payload, ...changes }) => newJob(id, { ...changes, spec: `{"payload":${payload}}` }));

const delayMs = fc.constantFrom(0, 0, LONG_MS);
const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 3, arbitrary: fc.nat(9).map((n): Outcome => ({ kind: 'done', result: `${n}` })) },
  fc.constant<Outcome>({ kind: 'done' }),
  fc.constant<Outcome>({ kind: 'dead', reason: 'permanent_error', error: ERROR }),
  fc.constant<Outcome>({ kind: 'cancelled' }),
  fc.constant<Outcome>({ kind: 'release' }),
  delayMs.map((ms): Outcome => ({ kind: 'retry', delayMs: ms, error: ERROR })),
  delayMs.map((ms): Outcome => ({ kind: 'snooze', delayMs: ms, error: ERROR })),
);

const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc
      .array(job, { minLength: 1, maxLength: 3 })
      .map((jobs): Command => ({ name: 'enqueue', jobs })),
  },
  {
    weight: 8,
    arbitrary: fc
      .record({ worker: fc.nat(1), max: fc.integer({ min: 1, max: 4 }), leaseMs })
      .map((claim): Command => ({ name: 'claim', ...claim })),
  },
  {
    weight: 6,
    arbitrary: fc
      .array(fc.record({ attempt, outcome }), { minLength: 1, maxLength: 3 })
      .map((settlements): Command => ({ name: 'settle', settlements })),
  },
  {
    weight: 1,
    arbitrary: fc.record({ attempt, leaseMs }).map((rest): Command => ({ name: 'renew', ...rest })),
  },
  { weight: 3, arbitrary: fc.constantFrom(1, 10).map((limit): Command => ({ name: 'reap', limit })) },
  { weight: 1, arbitrary: fc.constantFrom(1, 10).map((limit): Command => ({ name: 'promote', limit })) },
  { weight: 1, arbitrary: fc.constantFrom(1, 10).map((limit): Command => ({ name: 'prune', limit })) },
  { weight: 2, arbitrary: anyJob.map((choice): Command => ({ name: 'cancel', job: choice })) },
  { weight: 2, arbitrary: anyJob.map((choice): Command => ({ name: 'remove', job: choice })) },
  { weight: 3, arbitrary: deadJob.map((choice): Command => ({ name: 'redrive', job: choice })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom<Command>({ name: 'pause' }, { name: 'resume' }, { name: 'resume' }),
  },
);

/**
 * Numbers the fresh ids. A follow-up always has one: only it can come to the head of a list in which an entry of
 * its former life still stands further behind, and then Redis gives it that place.
 */
function numbered(commands: readonly Command[]): Command[] {
  let fresh = 0;
  return commands.map((one) => {
    if (one.name !== 'enqueue') return one;
    const jobs = one.jobs.map((asked) => {
      const isFresh = asked.id === FRESH || asked.keys?.dedup?.onDuplicate === 'rerun';
      return isFresh ? { ...asked, id: `n${fresh++}` } : asked;
    });
    return { ...one, jobs };
  });
}

export const scenario: fc.Arbitrary<Scenario> = fc.record({
  retention: fc.record({
    done: fc.constantFrom(0, 1, 100, 100),
    dead: fc.constantFrom(0, 1, 100, 100),
    cancelled: fc.constantFrom(0, 1, 100, 100),
  }),
  commands: fc.array(command, { minLength: 10, maxLength: 70, size: 'max' }).map(numbered),
});
