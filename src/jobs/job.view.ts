/** A job as the API shows it. Not its payload, which holds personal data, nor stacks, which show our insides. */
import type { Job, JobStatus } from '@fenceline/nestjs';

export interface JobView {
  readonly jobId: string;
  readonly type: string | undefined;
  readonly status: JobStatus;
  /** What a blocked job waits for, such as `resource:user:42`. */
  readonly blockedOn: string | undefined;
  readonly resourceKey: string | undefined;
  readonly idempotencyKey: string | undefined;
  readonly dedupKey: string | undefined;
  readonly attempt: number;
  readonly maxAttempts: number;
  readonly workerId: string | undefined;
  readonly fencingToken: number | undefined;
  readonly createdAt: string | undefined;
  readonly updatedAt: string | undefined;
  readonly startedAt: string | undefined;
  readonly endedAt: string | undefined;
  readonly dueAt: string | undefined;
  readonly result: unknown;
  readonly lastError: JobErrorView | undefined;
}

interface JobErrorView {
  readonly name: string;
  readonly message: string;
  readonly code: string | undefined;
  readonly at: string | undefined;
}

export function viewOf(job: Job): JobView {
  const { lastError } = job;
  return {
    jobId: job.id,
    type: job.type,
    status: job.status,
    blockedOn: job.blockedOn,
    resourceKey: job.resourceKey,
    idempotencyKey: job.idempotencyKey,
    dedupKey: job.dedupKey,
    attempt: job.attempt,
    maxAttempts: job.maxAttempts,
    workerId: job.workerId,
    fencingToken: job.fencingToken,
    createdAt: isoTime(job.createdAt),
    updatedAt: isoTime(job.updatedAt),
    startedAt: isoTime(job.startedAt),
    endedAt: isoTime(job.endedAt),
    dueAt: isoTime(job.dueAt),
    result: job.result,
    lastError: lastError && {
      name: lastError.name,
      message: lastError.message,
      code: lastError.code,
      at: isoTime(lastError.at),
    },
  };
}

function isoTime(ms: number | undefined): string | undefined {
  return ms === undefined ? undefined : new Date(ms).toISOString();
}
