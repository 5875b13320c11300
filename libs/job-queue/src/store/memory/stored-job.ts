/** One job as the memory store keeps it, and the record it shows of it. */
import type { DeadReason, FencingToken, JobStatus } from '../../job/job.js';
import type { JobRecord } from '../job-store.js';
import type { DedupRequest, IdempotencyRequest, JobKeys } from '../new-job.js';

/** Every status but `queued` is kept in order of one time: see `StoredJob.at`. */
export type TimedStatus = Exclude<JobStatus, 'queued'>;

export class StoredJob {
  status: JobStatus = 'queued';
  /** When it is due, runs out of lease, was blocked, or ended, as its status has it. Never changed while it stands in an index. */
  at = 0;
  /** Its place in the list of its priority; `undefined` when it is not queued. */
  position: number | undefined = undefined;
  attempt = 0;
  /** Stays readable after the attempt ended; it counts only while the job is processing. */
  token: FencingToken | undefined = undefined;
  workerId: string | undefined = undefined;
  startedAt: number | undefined = undefined;
  updatedAt: number | undefined = undefined;
  firstRefusedAt: number | undefined = undefined;
  deadReason: DeadReason | undefined = undefined;
  redriveCount = 0;
  attemptsBeforeRedrive = 0;
  cancelRequested = false;
  result: string | undefined = undefined;
  error: string | undefined = undefined;
  checkpoint: string | undefined = undefined;
  /** `<kind>:<key>` that it waits for while it is blocked. */
  blockedOn: string | undefined = undefined;
  readonly resourceKey: string | undefined;
  /** Only its fingerprint ever changes. */
  idempotency: IdempotencyRequest | undefined;
  readonly dedup: DedupRequest | undefined;
  /** Whether it cannot be started without asking who holds its keys. */
  readonly takesKeys: boolean;

  constructor(
    readonly id: string,
    /** The stored text, with `created_at` in front. Only dedup's `replace` changes it. */
    public spec: string,
    readonly priority: number,
    readonly createdAt: number,
    { resource, idempotency, dedup }: JobKeys = {},
  ) {
    this.resourceKey = resource;
    this.idempotency = idempotency;
    this.dedup = dedup;
    this.takesKeys = resource !== undefined || idempotency !== undefined;
  }

  /** Whether that attempt still holds the job. An expired lease that nobody has reaped is still its owner's. */
  isHeldBy(token: FencingToken): boolean {
    return this.status === 'processing' && this.token === token;
  }

  toRecord(): JobRecord {
    const waitsForTime = this.status === 'scheduled' || this.status === 'retrying';
    return {
      id: this.id,
      status: this.status,
      spec: this.spec,
      priority: this.priority,
      attempt: this.attempt,
      token: this.token,
      workerId: this.workerId,
      startedAt: this.startedAt,
      updatedAt: this.updatedAt,
      dueAt: waitsForTime ? this.at : undefined,
      leaseExpiresAt: this.status === 'processing' ? this.at : undefined,
      deadReason: this.deadReason,
      redriveCount: this.redriveCount,
      attemptsBeforeRedrive: this.attemptsBeforeRedrive,
      cancelRequested: this.cancelRequested,
      resourceKey: this.resourceKey,
      idempotencyKey: this.idempotency?.key,
      dedupKey: this.dedup?.key,
      blockedOn: this.status === 'blocked' ? this.blockedOn : undefined,
      result: this.result,
      error: this.error,
    };
  }
}
