/**
 * The port between the queue and its storage: one `JobStore` per queue. Two implementations, `redis` and
 * `memory`, must answer alike; the contract suite holds them to it. All times are ms of the store's own
 * clock. Every state change is one atomic step.
 */
import type { FencingToken, JobStatus } from '../job/job.js';
import type { Outcome } from '../job/outcome.js';
import type { EnqueueRefusal, EnqueueReply, NewJob } from './new-job.js';

/** End of one attempt. Applied only while `token` is the current token of a processing job. */
export interface Settlement {
  readonly jobId: string;
  readonly token: FencingToken;
  readonly outcome: Outcome;
}

/**
 * `applied`: `status` is the job's new status. An outcome other than `done` and `dead` becomes `cancelled`
 * when a cancellation was asked for.
 * `stale`: the token is not the current one; nothing was changed except the count of refusals. `status`
 * is the job's status (`undefined`: it no longer exists), `holder` the worker that holds it now, if any.
 */
export type SettleReply =
  | { readonly applied: true; readonly status: JobStatus }
  | {
      readonly applied: false;
      readonly status: JobStatus | undefined;
      readonly holder: string | undefined;
    };

/**
 * One round trip of a worker's lane: settle some attempts and claim new jobs. The two parts are each
 * atomic and independent of their order.
 *
 * Calls of a lane are numbered upwards from 1. The same number again is answered from the record of its
 * first execution, settling and claiming nothing twice; a replayed claim renews the leases that still
 * stand and leaves out the jobs whose lease does not. A lower number is refused with `SupersededCallError`.
 */
export interface LaneCall {
  readonly workerId: string;
  readonly lane: number;
  readonly number: number;
  readonly settlements: readonly Settlement[];
  /**
   * Earlier claims, as `<lane>:<number>`, of which the worker holds no job once these settlements are applied: the
   * store may forget who claimed what. Only heard together with settlements.
   */
  readonly endedClaims?: readonly string[];
  /** How many jobs to claim at most; 0 claims nothing. */
  readonly claimMax: number;
  /** Lease of each claimed job, ms from now. */
  readonly leaseMs: number;
}

export interface ClaimedJob {
  readonly jobId: string;
  readonly token: FencingToken;
  /** 1 for the first run. */
  readonly attempt: number;
  /** The stored text: the spec with `created_at` in front. */
  readonly spec: string;
  /** When a worker first refused it because it did not know the type. */
  readonly firstRefusedAt: number | undefined;
}

export interface LaneReply {
  /** One entry per settlement, in their order. */
  readonly settled: readonly SettleReply[];
  readonly claimed: readonly ClaimedJob[];
  /** Jobs that met a busy key and wait for it now. */
  readonly blocked: readonly string[];
  /** Jobs that ended `done` with the stored result of their idempotency key. */
  readonly replayed: readonly string[];
  /** Ready jobs were left: worth claiming again as soon as a slot is free. */
  readonly more: boolean;
  /** ms until the next scheduled or retrying job is due, when there is one. */
  readonly nextDueInMs: number | undefined;
  /** The store's time when it claimed; `undefined` when nothing was to be claimed. */
  readonly now: number | undefined;
}

/** Live data of a worker, written with each heartbeat and shown to operators. */
export interface WorkerInfo {
  readonly workerId: string;
  readonly host: string;
  readonly pid: number;
  readonly slots: number;
}

export interface HeldLease {
  readonly jobId: string;
  readonly token: FencingToken;
}

export interface RenewReply {
  /** Leases that are no longer this worker's: taken back, ended, or removed. */
  readonly lost: readonly string[];
  /** Held jobs for which a cancellation was asked. */
  readonly cancelRequested: readonly string[];
  /** Held jobs whose part of the store did not answer: neither renewed nor lost. */
  readonly unanswered?: readonly string[];
}

/** A lease that ended because its deadline passed or its entry had vanished. */
export interface ReapedLease {
  readonly jobId: string;
  readonly attempt: number;
  readonly token: FencingToken | undefined;
  readonly workerId: string | undefined;
  /** `queued`, or `cancelled` when a cancellation was asked for. */
  readonly status: JobStatus;
}

export interface ReapReply {
  readonly reaped: readonly ReapedLease[];
  /** The limit was reached; call again. */
  readonly more: boolean;
}

export interface PromoteReply {
  readonly promoted: number;
  readonly more: boolean;
}

/** Everything stored about one job. */
export interface JobRecord {
  readonly id: string;
  readonly status: JobStatus;
  /** `undefined` when the spec is gone although a run is left (deleted by hand, evicted). */
  readonly spec: string | undefined;
  readonly priority: number;
  readonly attempt: number;
  readonly token: FencingToken | undefined;
  readonly workerId: string | undefined;
  readonly startedAt: number | undefined;
  readonly updatedAt: number | undefined;
  readonly dueAt: number | undefined;
  readonly leaseExpiresAt: number | undefined;
  readonly deadReason: string | undefined;
  readonly redriveCount: number;
  readonly attemptsBeforeRedrive: number;
  readonly cancelRequested: boolean;
  readonly resourceKey: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly dedupKey: string | undefined;
  /** `<kind>:<key>` that a blocked job waits for; kinds `resource`, `idempotency`, `dedup`. */
  readonly blockedOn: string | undefined;
  /** JSON texts. */
  readonly result: string | undefined;
  readonly error: string | undefined;
}

/**
 * `order` is by when jobs ended, are due, run out of lease or were blocked; queued jobs come in the order in which they
 * will be claimed, whatever `order` says. `cursor` is the previous page's `nextCursor`.
 */
export interface ListQuery {
  readonly status: JobStatus;
  readonly limit: number;
  readonly order: 'oldest' | 'newest';
  readonly cursor?: string;
}

export interface JobPage {
  readonly ids: readonly string[];
  /** The times by which the ids are ordered; absent for queued jobs, which have none. */
  readonly times?: readonly number[];
  readonly nextCursor: string | undefined;
}

export type JobCounts = Readonly<Record<JobStatus, number>>;

/** Lifetime counters of a queue. Each is counted by the step that makes it true, so never twice. */
export const STATS = [
  'enqueued',
  'duplicates',
  'replaced',
  'blocked',
  'done',
  'replayed',
  'retried',
  'dead',
  'cancelled',
  'released',
  'snoozed',
  'redriven',
  'lost_leases',
  'stale_refused',
  'runaways',
] as const;
export type Stat = (typeof STATS)[number];
export type StatCounts = Readonly<Record<Stat, number>>;

export interface QueueSnapshot {
  readonly counts: JobCounts;
  readonly paused: boolean;
  /** Age in ms of the job at the head of the queue that has waited longest since its creation; 0 when none is ready. */
  readonly oldestReadyAgeMs: number;
  readonly lifetime: StatCounts;
}

/** By what a queue is known again: a store that lost its data, or some of it, cannot show the same or more. */
export interface QueueMark {
  /** When a worker was first on record here, ms; `undefined` before that. */
  readonly createdAt: number | undefined;
  /** Sum of all lifetime counters. */
  readonly counted: number;
}

/** Answer of an operation that the job's status may forbid. */
export type TransitionReply =
  | { readonly kind: 'moved'; readonly from: JobStatus }
  /** Cancel of a processing job: its worker hears it with the next heartbeat. */
  | { readonly kind: 'requested' }
  | { readonly kind: 'illegal'; readonly status: JobStatus }
  /** Redrive: `holder` owns the dedup key now, or the idempotency key stands for another payload now. */
  | {
      readonly kind: 'key_taken';
      readonly key: 'dedup' | 'idempotency';
      readonly holder: string | undefined;
    }
  | { readonly kind: 'not_found' };

/** Lets an idle worker sleep until there may be work. Never carries a job. */
export interface WakeListener {
  /** Resolves on a wake-up, after `timeoutMs`, or on `close`. Never rejects. */
  wait(timeoutMs: number): Promise<'woken' | 'timeout'>;
  close(): Promise<void>;
}

export interface JobStore {
  /**
   * Answers per job, in their order. When it rejects with EnqueueRefusedError nothing was stored. At most
   * 250 jobs. Jobs that a dedup or idempotency key refuses are answered as such; the others are stored.
   * @throws EnqueueRefusedError certainly nothing was stored.
   * @throws EnqueueUnknownError the reply was lost.
   */
  enqueue(jobs: readonly NewJob[]): Promise<readonly (EnqueueReply | EnqueueRefusal)[]>;

  /** See `LaneCall`. Promotes due jobs (bounded) before it claims. Claims nothing while paused. */
  exchange(call: LaneCall): Promise<LaneReply>;

  /**
   * Renews the leases whose token is still current, also expired ones that nobody has reaped, re-adds
   * lease entries that vanished, and records the worker's heartbeat.
   */
  renew(worker: WorkerInfo, leases: readonly HeldLease[], leaseMs: number): Promise<RenewReply>;

  /** Ends the worker's record. Leases it still holds are left to the reaper. */
  signOff(workerId: string): Promise<void>;

  /**
   * Gives jobs with an expired lease back to the head of the queue, and those of silent workers (no
   * heartbeat for `leaseMs`) whose lease entry vanished; their resource key stays reserved for them, their
   * idempotency key goes to the next in line. Wakes blocked jobs whose key nobody holds any more. Forgets
   * the records of workers that are silent for an hour and hold nothing.
   */
  reap(leaseMs: number, limit: number): Promise<ReapReply>;

  /** Moves due scheduled and retrying jobs to the tail of the queue. */
  promote(limit: number): Promise<PromoteReply>;

  /** Deletes ended jobs beyond the queue's retention. Answers how many, at most `limit`. */
  prune(limit: number): Promise<number>;

  cancel(jobId: string): Promise<TransitionReply>;
  remove(jobId: string): Promise<TransitionReply>;
  redrive(jobId: string): Promise<TransitionReply>;
  pause(): Promise<void>;
  resume(): Promise<void>;

  /** Records in the order of the ids; `undefined` for those that do not exist. */
  read(jobIds: readonly string[]): Promise<readonly (JobRecord | undefined)[]>;
  list(query: ListQuery): Promise<JobPage>;
  snapshot(): Promise<QueueSnapshot>;
  mark(): Promise<QueueMark>;
  /** Sums of counters over at least the last `windowMs`, rounded up to whole minutes, at most two hours. */
  recent(stats: readonly Stat[], windowMs: number): Promise<Readonly<Partial<Record<Stat, number>>>>;
  /** Adds to a counter that no transition counts. */
  count(stat: 'runaways', amount: number): Promise<void>;

  readCheckpoint(jobId: string): Promise<string | undefined>;
  /** Answers `false`, changing nothing, when the token is not the current one of a processing job. */
  writeCheckpoint(jobId: string, token: FencingToken, value: string): Promise<boolean>;

  listenForWork(): WakeListener;
  /** Hands a wake-up on to another idle worker. */
  wake(): Promise<void>;
}
