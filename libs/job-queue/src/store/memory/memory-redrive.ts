/** Moves a dead job back to the queue with all its attempts, unless somebody else has its keys by now. */
import type { TransitionReply } from '../job-store.js';
import type { MemoryQueueState } from './memory-queue-state.js';
import type { StoredJob } from './stored-job.js';

export function redriveDead(state: MemoryQueueState, job: StoredJob): TransitionReply {
  const ownerId = job.dedup && state.dedup.find(job.dedup.key)?.ownerId;
  if (ownerId !== undefined && ownerId !== job.id)
    return { kind: 'key_taken', key: 'dedup', holder: ownerId };
  if (job.idempotency && !state.operations.enter(job.idempotency)) {
    return { kind: 'key_taken', key: 'idempotency', holder: undefined };
  }
  // A window began with the enqueue; from now on the key is owned until the job ends.
  if (job.dedup && ownerId === undefined) state.dedup.own(job.id, { ...job.dedup, windowMs: undefined });

  job.attemptsBeforeRedrive += job.attempt;
  job.attempt = 0;
  job.redriveCount += 1;
  job.deadReason = undefined;
  job.firstRefusedAt = undefined;
  job.cancelRequested = false;
  job.updatedAt = state.now();
  state.toReady(job, 'tail');
  state.count('redriven');
  state.wake.signal();
  return { kind: 'moved', from: 'dead' };
}
