/** Takes a new job in, or says which job is there instead, or why neither. */
import type { DedupRequest, EnqueueRefusal, EnqueueReply, JobKeys, NewJob } from '../new-job.js';
import type { DedupRecord } from './memory-dedup.js';
import type { MemoryQueueState } from './memory-queue-state.js';
import { StoredJob } from './stored-job.js';

type Reply = EnqueueReply | EnqueueRefusal;

export function enqueueOne(state: MemoryQueueState, job: NewJob): Reply {
  const { id, keys } = job;
  const present = state.jobs.get(id);
  if (present) return duplicate(state, present.id);
  if (!keys) return stored(state, job);

  const record = keys.dedup && state.dedup.find(keys.dedup.key);
  if (keys.dedup && record) return onDuplicate(state, job, keys.dedup, record);
  if (keys.idempotency && !state.operations.enter(keys.idempotency)) return conflict(id, undefined);
  const reply = stored(state, job);
  if (keys.dedup) state.dedup.own(id, keys.dedup);
  return reply;
}

function stored(state: MemoryQueueState, { id, spec, priority, delayMs, keys }: NewJob): EnqueueReply {
  const now = state.now();
  const job = new StoredJob(id, stamped(spec, now), priority, now, keys);
  state.insert(job, delayMs);
  state.count('enqueued');
  return { jobId: id, status: job.status, duplicate: false };
}

function onDuplicate(
  state: MemoryQueueState,
  job: NewJob,
  { onDuplicate: choice, type, key }: DedupRequest,
  record: DedupRecord,
): Reply {
  const { ownerId } = record;
  if (choice === 'reject') {
    state.count('duplicates');
    return { jobId: job.id, refused: 'duplicate', holder: ownerId };
  }
  if (choice === 'return') return duplicate(state, ownerId);
  if (record.type !== type) return { jobId: job.id, refused: 'dedup_type', holder: ownerId };

  const owner = state.jobs.get(ownerId);
  switch (owner?.status) {
    case 'scheduled':
    case 'queued':
    case 'blocked':
    case 'retrying':
      return replace(state, owner, job);
    case 'processing':
      // A window ends by time: nothing could wait for its owner's end.
      return choice === 'rerun' && !record.isWindow
        ? rerun(state, job, key, record)
        : duplicate(state, ownerId);
    default:
      return duplicate(state, ownerId);
  }
}

/** The owner runs: one follow-up waits for it, always with the newest payload. */
function rerun(state: MemoryQueueState, job: NewJob, key: string, record: DedupRecord): Reply {
  const { id, spec, priority, keys } = job;
  const waiting = state.dedup.followUpOf(key);
  if (waiting) return replace(state, waiting, { ...job, delayMs: 0 });
  if (keys?.idempotency && !state.operations.enter(keys.idempotency)) return conflict(id, undefined);

  const now = state.now();
  const followUp = new StoredJob(id, stamped(spec, now), priority, now, keys);
  state.insertBlocked(followUp, `dedup:${key}`);
  record.followUpId = id;
  state.count('enqueued');
  return { jobId: id, status: 'blocked', duplicate: false };
}

/** The owner gets the new payload and delay and nothing else; it keeps its age, its keys and its priority. */
function replace(state: MemoryQueueState, owner: StoredJob, { id, spec, delayMs, keys = {} }: NewJob): Reply {
  if (!mayReplace(state, owner, keys)) return conflict(id, owner.id);
  const wasScheduled = owner.status === 'scheduled';
  owner.spec = withPayloadOf(owner.spec, spec);
  // A retrying job keeps its backoff, a blocked one its place, unless a delay is asked for.
  if (wasScheduled || (delayMs > 0 && owner.status !== 'retrying')) reschedule(state, owner, delayMs);
  state.count('replaced');
  return { jobId: owner.id, status: owner.status, duplicate: true, replaced: true };
}

/** It is not next on any key any more. */
function reschedule(state: MemoryQueueState, owner: StoredJob, delayMs: number): void {
  const now = state.now();
  state.keys.release(owner);
  owner.blockedOn = undefined;
  // A job that never ran has no history yet, and waiting for its time does not start one.
  if (owner.updatedAt !== undefined) owner.updatedAt = now;
  if (delayMs > 0) state.toTimed(owner, 'scheduled', now + delayMs);
  else state.toReady(owner, 'tail');
}

/** What an operation is about may change only while it is nobody else's, and not done. */
function mayReplace(state: MemoryQueueState, owner: StoredJob, { idempotency }: JobKeys): boolean {
  if (owner.idempotency?.key !== idempotency?.key) return false;
  if (!owner.idempotency || !idempotency) return true;
  const revised = { ...owner.idempotency, fingerprint: idempotency.fingerprint };
  if (!state.operations.revise(revised)) return false;
  owner.idempotency = revised;
  return true;
}

/** An owner that is gone although its window is not has ended. */
function duplicate(state: MemoryQueueState, jobId: string): EnqueueReply {
  state.count('duplicates');
  return { jobId, status: state.jobs.get(jobId)?.status ?? 'done', duplicate: true };
}

function conflict(jobId: string, holder: string | undefined): EnqueueRefusal {
  return { jobId, refused: 'idempotency_conflict', holder };
}

/** `payload` is the last member of a spec. Inside of strings its quotes are escaped, so the first match is it. */
function withPayloadOf(spec: string, newer: string): string {
  return spec.slice(0, spec.indexOf('"payload":')) + newer.slice(newer.indexOf('"payload":'));
}

/** Puts the time of creation in front of the fields of a JSON object. */
function stamped(spec: string, createdAt: number): string {
  return `{"created_at":${createdAt},${spec.slice(1)}`;
}
