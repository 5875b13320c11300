/** The answer to every request that enqueues a job: which one it became, and where to watch it. */
import type { JobStatus } from '@fenceline/nestjs';
import type { Response } from 'express';

export interface AcceptedJob {
  readonly jobId: string;
  readonly status: JobStatus;
  /** The job was there already; this request added nothing. */
  readonly duplicate: boolean;
}

/** Points the `Location` header at the job. */
export function locateJob(response: Response, { jobId, status, duplicate }: AcceptedJob): AcceptedJob {
  response.location(`/jobs/${encodeURIComponent(jobId)}`);
  return { jobId, status, duplicate };
}
