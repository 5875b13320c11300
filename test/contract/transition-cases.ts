/** The rows and columns of the transition matrix: ways into every status, and every operation with its answers. */
import { TRANSITIONS, type FencingToken, type JobStatus, type Operation } from '#lib/job/job.js';
import type { Outcome } from '#lib/job/outcome.js';
import type { JobKeys } from '#lib/store/new-job.js';
import {
  LONG_MS,
  newJob,
  once,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  unique,
  worker,
  type StoreDriver,
} from './contract-store.js';

export const JOB_ID = 'job';
const OTHER_ID = 'other';

interface Timing {
  readonly delayMs: number;
  readonly leaseMs: number;
}

/** A way to bring the job into a status. Answers the token of its last attempt, or one that never was. */
export interface Situation {
  readonly name: string;
  readonly status: JobStatus;
  /** Where the job stands that it needs beside it. */
  readonly other?: JobStatus;
  arrange(driver: StoreDriver, timing: Timing): Promise<FencingToken>;
}

export interface OperationCase {
  readonly name: string;
  /** Whose row in `TRANSITIONS` says from where it is legal. */
  readonly operation: Operation;
  readonly timing: Timing;
  run(driver: StoreDriver, token: FencingToken): Promise<unknown>;
  /** Its answer where it is legal, and the status it leads to; 'gone' when there is no job any more. */
  accepted(from: JobStatus): readonly [answer: unknown, to: JobStatus | 'gone'];
  refused(status: JobStatus): unknown;
}

const NEVER_MINTED = 1;

async function settled(driver: StoreDriver, leaseMs: number, outcome: Outcome): Promise<FencingToken> {
  await driver.enqueue(JOB_ID);
  const claimed = await driver.claimOne({ leaseMs });
  await driver.settle(claimed, outcome);
  return claimed.token;
}

/** Behind a job that holds its key for long. */
async function blocked(driver: StoreDriver, keys: JobKeys): Promise<FencingToken> {
  await driver.store.enqueue([newJob(OTHER_ID, { keys }), newJob(JOB_ID, { keys })]);
  await driver.claim(2, { workerId: 'other' });
  return NEVER_MINTED;
}

async function pending(driver: StoreDriver, delayMs: number): Promise<FencingToken> {
  await driver.enqueue(JOB_ID, { delayMs });
  return NEVER_MINTED;
}

export const SITUATIONS: readonly Situation[] = [
  { name: 'scheduled', status: 'scheduled', arrange: (driver, { delayMs }) => pending(driver, delayMs) },
  {
    name: 'scheduled by a snooze',
    status: 'scheduled',
    arrange: (driver, { delayMs, leaseMs }) => settled(driver, leaseMs, { ...OUTCOMES.snooze, delayMs }),
  },
  { name: 'queued', status: 'queued', arrange: (driver) => pending(driver, 0) },
  {
    name: 'queued by a release',
    status: 'queued',
    arrange: (driver, { leaseMs }) => settled(driver, leaseMs, OUTCOMES.release),
  },
  {
    name: 'queued by the reaper',
    status: 'queued',
    arrange: async (driver) => {
      await driver.enqueue(JOB_ID);
      const { token } = await driver.claimOne({ leaseMs: SHORT_MS });
      await driver.advance(PASSED_MS);
      await driver.store.reap(LONG_MS, 10);
      return token;
    },
  },
  {
    name: 'queued by a redrive',
    status: 'queued',
    arrange: async (driver, { leaseMs }) => {
      const token = await settled(driver, leaseMs, OUTCOMES.dead);
      await driver.store.redrive(JOB_ID);
      return token;
    },
  },
  {
    name: 'queued with its keys reserved',
    status: 'queued',
    other: 'done',
    arrange: async (driver) => {
      const keys = { resource: 'r' };
      await driver.store.enqueue([newJob(OTHER_ID, { keys }), newJob(JOB_ID, { keys })]);
      const [other] = await driver.claim(2);
      if (other) await driver.settle(other, OUTCOMES.done);
      return NEVER_MINTED;
    },
  },
  {
    name: 'blocked on its resource key',
    status: 'blocked',
    other: 'processing',
    arrange: (driver) => blocked(driver, { resource: 'r' }),
  },
  {
    name: 'blocked on its idempotency key',
    status: 'blocked',
    other: 'processing',
    arrange: (driver) => blocked(driver, { idempotency: once('i') }),
  },
  {
    name: 'blocked on its dedup key',
    status: 'blocked',
    other: 'processing',
    arrange: async (driver) => {
      const keys = { dedup: unique('d', { onDuplicate: 'rerun' }) };
      await driver.enqueueWith(keys, OTHER_ID);
      await driver.claimOne({ workerId: 'other' });
      await driver.enqueueWith(keys, JOB_ID);
      return NEVER_MINTED;
    },
  },
  {
    name: 'processing',
    status: 'processing',
    arrange: async (driver, { leaseMs }) => {
      await driver.enqueue(JOB_ID);
      return (await driver.claimOne({ leaseMs })).token;
    },
  },
  {
    name: 'retrying',
    status: 'retrying',
    arrange: (driver, { delayMs, leaseMs }) => settled(driver, leaseMs, { ...OUTCOMES.retry, delayMs }),
  },
  {
    name: 'done',
    status: 'done',
    arrange: (driver, { leaseMs }) => settled(driver, leaseMs, OUTCOMES.done),
  },
  {
    name: 'done by a replay',
    status: 'done',
    other: 'done',
    arrange: async (driver) => {
      await driver.enqueueWith({ idempotency: once('i') }, OTHER_ID, JOB_ID);
      await driver.drain();
      return NEVER_MINTED;
    },
  },
  {
    name: 'dead',
    status: 'dead',
    arrange: (driver, { leaseMs }) => settled(driver, leaseMs, OUTCOMES.dead),
  },
  {
    name: 'cancelled before it ran',
    status: 'cancelled',
    arrange: async (driver) => {
      await driver.enqueue(JOB_ID);
      await driver.store.cancel(JOB_ID);
      return NEVER_MINTED;
    },
  },
  {
    name: 'cancelled by its worker',
    status: 'cancelled',
    arrange: (driver, { leaseMs }) => settled(driver, leaseMs, OUTCOMES.cancelled),
  },
];

const UNHURRIED: Timing = { delayMs: LONG_MS, leaseMs: LONG_MS };

const SETTLED_TO: Readonly<Record<Outcome['kind'], JobStatus>> = {
  done: 'done',
  retry: 'retrying',
  dead: 'dead',
  cancelled: 'cancelled',
  release: 'queued',
  snooze: 'scheduled',
};

const SETTLE_CASES = Object.values(OUTCOMES).map((outcome): OperationCase => {
  const to = SETTLED_TO[outcome.kind];
  return {
    name: `settle as ${outcome.kind}`,
    operation: 'settle',
    timing: UNHURRIED,
    run: (driver, token) => driver.settle({ jobId: JOB_ID, token }, outcome),
    accepted: () => [{ applied: true, status: to }, to],
    refused: (status) => ({ applied: false, status, holder: undefined }),
  };
});

const illegal = (status: JobStatus): unknown => ({ kind: 'illegal', status });

export const OPERATION_CASES: readonly OperationCase[] = [
  {
    name: 'promote',
    operation: 'promote',
    timing: { delayMs: SHORT_MS, leaseMs: LONG_MS },
    run: async (driver) => {
      await driver.advance(PASSED_MS);
      return driver.store.promote(10);
    },
    accepted: () => [{ promoted: 1, more: false }, 'queued'],
    refused: () => ({ promoted: 0, more: false }),
  },
  {
    name: 'claim',
    operation: 'claim',
    timing: UNHURRIED,
    run: (driver) => driver.claimIds(),
    accepted: () => [[JOB_ID], 'processing'],
    refused: () => [],
  },
  ...SETTLE_CASES,
  {
    name: 'reap',
    operation: 'reap',
    timing: { delayMs: LONG_MS, leaseMs: SHORT_MS },
    run: async (driver) => {
      await driver.advance(PASSED_MS);
      return (await driver.store.reap(LONG_MS, 10)).reaped.map(({ jobId }) => jobId);
    },
    accepted: () => [[JOB_ID], 'queued'],
    refused: () => [],
  },
  {
    name: 'cancel',
    operation: 'cancel',
    timing: UNHURRIED,
    run: (driver) => driver.store.cancel(JOB_ID),
    accepted: (from) =>
      from === 'processing' ? [{ kind: 'requested' }, from] : [{ kind: 'moved', from }, 'cancelled'],
    refused: illegal,
  },
  {
    name: 'redrive',
    operation: 'redrive',
    timing: UNHURRIED,
    run: (driver) => driver.store.redrive(JOB_ID),
    accepted: (from) => [{ kind: 'moved', from }, 'queued'],
    refused: illegal,
  },
  {
    name: 'remove',
    operation: 'remove',
    timing: UNHURRIED,
    run: (driver) => driver.store.remove(JOB_ID),
    accepted: (from) => [{ kind: 'moved', from }, 'gone'],
    refused: illegal,
  },
  {
    name: 'renew',
    operation: 'settle',
    timing: UNHURRIED,
    run: async (driver, token) =>
      (await driver.store.renew(worker('worker-1'), [{ jobId: JOB_ID, token }], LONG_MS)).lost,
    accepted: (from) => [[], from],
    refused: () => [JOB_ID],
  },
  {
    name: 'write a checkpoint',
    operation: 'settle',
    timing: UNHURRIED,
    run: (driver, token) => driver.store.writeCheckpoint(JOB_ID, token, '{"step":1}'),
    accepted: (from) => [true, from],
    refused: () => false,
  },
];

/** What the matrix must not leave out. */
export const ALL_OPERATIONS = Object.keys(TRANSITIONS);
