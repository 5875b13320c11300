/** Gives jobs whose lease ran out back to the queue. */
import type { ReapedLease, ReapReply } from '../job-store.js';
import type { MemoryQueueState } from './memory-queue-state.js';
import type { StoredJob } from './stored-job.js';

/** Takes the leases that ran out first. */
export function reapExpired(state: MemoryQueueState, now: number, limit: number): ReapReply {
  const expired = state.timed.processing.until(now, limit);
  // Backwards, because each goes to the head: the one that expired first runs first.
  const reaped = expired.toReversed().map((job) => reapOne(state, job, now));
  if (reaped.some(({ status }) => status === 'queued')) state.wake.signal();
  return { reaped, more: reaped.length === limit };
}

function reapOne(state: MemoryQueueState, job: StoredJob, now: number): ReapedLease {
  const { attempt, token, workerId } = job;
  state.count('lost_leases');
  job.updatedAt = now;
  if (job.cancelRequested) {
    state.end(job, 'cancelled');
  } else {
    job.token = undefined;
    state.toReady(job, 'head');
    // It keeps its place on its resource; an operation that somebody else can do shall not wait for it.
    state.keys.releaseIdempotency(job);
  }
  return { jobId: job.id, attempt, token, workerId, status: job.status };
}
