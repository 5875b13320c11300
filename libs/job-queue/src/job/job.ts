/** What a job is, which states it can be in, and which operation may move it from where. */

export const JOB_STATUSES = [
  'scheduled',
  'queued',
  'blocked',
  'processing',
  'retrying',
  'done',
  'dead',
  'cancelled',
] as const;

/** The one state a job is in. */
export type JobStatus = (typeof JOB_STATUSES)[number];

/** A job in one of these has ended; only `redrive` (dead) brings it back. */
export type EndedStatus = 'done' | 'dead' | 'cancelled';

/** A number that only ever grows per queue; the store refuses writes that carry one which is no longer current. */
export type FencingToken = number;

/**
 * The legal transitions: operation → the statuses it may start from. Everything else is refused with
 * `IllegalTransitionError` (admin operations) or answered as stale (`settle`, `renew`).
 */
export const TRANSITIONS = {
  promote: ['scheduled', 'retrying'],
  claim: ['queued'],
  settle: ['processing'],
  reap: ['processing'],
  cancel: ['scheduled', 'queued', 'blocked', 'retrying', 'processing'],
  redrive: ['dead'],
  remove: ['scheduled', 'queued', 'blocked', 'retrying', 'done', 'dead', 'cancelled'],
} as const satisfies Record<string, readonly JobStatus[]>;

export type Operation = keyof typeof TRANSITIONS;

export function isLegal(operation: Operation, from: JobStatus): boolean {
  return (TRANSITIONS[operation] as readonly JobStatus[]).includes(from);
}

/** Why a job was buried. */
export type DeadReason =
  | 'attempts_exhausted'
  | 'permanent_error'
  | 'payload_invalid'
  | 'result_unstorable'
  | 'spec_unreadable'
  | 'unknown_type';

/** What is kept of an attempt's error. Times are ms of the store's clock. */
export interface JobError {
  readonly name: string;
  readonly message: string;
  readonly code?: string;
  readonly stack?: string;
  readonly cause?: JobError;
  /** When the store recorded it. */
  readonly at?: number;
}

/** A job as the inspector shows it. Times are ms since the epoch by the store's clock. */
export interface Job {
  readonly id: string;
  readonly queue: string;
  readonly status: JobStatus;
  /** `undefined` when the stored spec cannot be read; `specError` then says why. */
  readonly type: string | undefined;
  readonly payload: unknown;
  readonly specError?: string;
  readonly priority: number;
  /** Attempts started since the job was enqueued or last redriven. */
  readonly attempt: number;
  /** Attempts after which a failing job is buried. */
  readonly maxAttempts: number;
  readonly createdAt: number | undefined;
  readonly updatedAt: number | undefined;
  /** When the latest attempt was claimed. */
  readonly startedAt: number | undefined;
  /** When the job ended. */
  readonly endedAt: number | undefined;
  /** When a scheduled or retrying job becomes ready. */
  readonly dueAt: number | undefined;
  /** When the lease of a processing job runs out unless it is renewed. */
  readonly leaseExpiresAt: number | undefined;
  /** Worker of the latest attempt. */
  readonly workerId: string | undefined;
  /** Token of the current attempt, or of the one that ended the job. */
  readonly fencingToken: FencingToken | undefined;
  readonly result: unknown;
  readonly lastError: JobError | undefined;
  readonly deadReason: DeadReason | undefined;
  /** How often it was redriven, and how many attempts it had used in all before the last redrive. */
  readonly redriveCount: number;
  readonly attemptsBeforeRedrive: number;
  readonly cancelRequested: boolean;
  readonly resourceKey: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly dedupKey: string | undefined;
  /** What a blocked job waits for: `resource:<key>`, `idempotency:<key>` or `dedup:<key>`. */
  readonly blockedOn: string | undefined;
}
