/** The two parts of a worker's call: ending attempts and claiming new ones. */
import type { JobStatus } from '../../job/job.js';
import type { Outcome } from '../../job/outcome.js';
import type { ClaimedJob, LaneCall, LaneReply, SettleReply, Settlement } from '../job-store.js';
import { ENDED_STATUSES, type MemoryQueueState } from './memory-queue-state.js';
import type { LaneMemory } from './memory-workers.js';
import type { StoredJob } from './stored-job.js';

/** Due jobs of each kind that a claim promotes at least, so that small claims keep up with many due jobs. */
const PROMOTED_AT_LEAST = 100;
/** Entries without a queued job that one claim clears away: bounds how long a call takes after a mass cancel. */
const SKIPPED_AT_MOST = 1_000;

export type ClaimReply = Omit<LaneReply, 'settled'>;
type Took = Pick<LaneReply, 'claimed' | 'blocked' | 'replayed'>;

const TOOK_NOTHING: Took = { claimed: [], blocked: [], replayed: [] };
export const CLAIMED_NOTHING: ClaimReply = {
  ...TOOK_NOTHING,
  more: false,
  nextDueInMs: undefined,
  now: undefined,
};

export function settle(state: MemoryQueueState, settlements: readonly Settlement[]): SettleReply[] {
  const released: StoredJob[] = [];
  const replies = settlements.map((settlement) => settleOne(state, settlement, released));
  // Once more, behind whatever the other settlements unblocked; backwards, because each goes to the head.
  if (replies.length > 1) for (const job of released.toReversed()) state.toReady(job, 'head');
  for (const status of ENDED_STATUSES) {
    // Retention is enforced as jobs end, so that a busy queue does not grow until somebody prunes.
    const ended = replies.filter((reply) => reply.applied && reply.status === status).length;
    state.pruneByCount(status, 2 * ended);
  }
  // Something waits now, to run or for its time; this worker may have no slot for it.
  if (replies.some(({ applied, status }) => applied && isPending(status))) state.wake.signal();
  return replies;
}

function settleOne(
  state: MemoryQueueState,
  { jobId, token, outcome }: Settlement,
  released: StoredJob[],
): SettleReply {
  const job = state.jobs.get(jobId);
  if (!job?.isHeldBy(token)) {
    state.count('stale_refused');
    const holder = job?.status === 'processing' ? job.workerId : undefined;
    return { applied: false, status: job?.status, holder };
  }
  const finished = outcome.kind === 'done' || outcome.kind === 'dead';
  apply(state, job, job.cancelRequested && !finished ? { kind: 'cancelled' } : outcome);
  if (job.status === 'queued') released.push(job);
  return { applied: true, status: job.status };
}

function apply(state: MemoryQueueState, job: StoredJob, outcome: Outcome): void {
  const now = state.now();
  job.updatedAt = now;
  switch (outcome.kind) {
    case 'done':
      job.result = outcome.result;
      if (job.idempotency) state.operations.complete(job.idempotency, outcome.result);
      job.firstRefusedAt = undefined;
      return state.end(job, 'done');
    case 'dead':
      job.deadReason = outcome.reason;
      job.error = stamped(outcome.error, now);
      return state.end(job, 'dead');
    case 'cancelled':
      return state.end(job, 'cancelled');
    case 'retry':
      job.error = stamped(outcome.error, now);
      job.firstRefusedAt = undefined;
      state.keys.release(job);
      state.toTimed(job, 'retrying', now + outcome.delayMs);
      return state.count('retried');
    case 'snooze':
      job.attempt -= 1;
      job.error = stamped(outcome.error, now);
      job.firstRefusedAt ??= now;
      state.keys.release(job);
      state.toTimed(job, 'scheduled', now + outcome.delayMs);
      return state.count('snoozed');
    case 'release':
      // It keeps its keys: they are reserved for it.
      job.attempt -= 1;
      state.toReady(job, 'head');
      return state.count('released');
  }
}

export function claim(state: MemoryQueueState, call: LaneCall): ClaimReply {
  const { claimMax } = call;
  const now = state.now();
  if (state.paused) return { ...TOOK_NOTHING, more: false, nextDueInMs: undefined, now };

  const promoteMax = Math.max(claimMax, PROMOTED_AT_LEAST);
  state.promote('scheduled', promoteMax);
  state.promote('retrying', promoteMax);

  const took = takeJobs(state, call, now);
  const outlook = lookAhead(state, now);
  // This worker is full now and will not see to the rest: another one shall.
  if (took.claimed.length === claimMax && (outlook.more || outlook.nextDueInMs !== undefined)) {
    state.wake.signal();
  }
  return { ...took, ...outlook, now };
}

/**
 * Jobs that are unblocked meanwhile have their turn when all others had theirs, and otherwise are the first
 * of the next claim.
 */
function takeJobs(state: MemoryQueueState, call: LaneCall, now: number): Took {
  const claimed: ClaimedJob[] = [];
  const blocked: string[] = [];
  const replayed: string[] = [];
  let examineMax = call.claimMax + SKIPPED_AT_MOST;
  state.holdBack();
  while (claimed.length < call.claimMax && examineMax > 0) {
    const { taken, examined } = state.takeReady(call.claimMax - claimed.length, examineMax);
    if (examined === 0) {
      if (state.letIn() === 0) break;
      state.holdBack();
    }
    examineMax -= examined;
    for (const job of taken) {
      if (!job.takesKeys) claimed.push(startAttempt(state, job, call, now));
      else if (replay(state, job)) replayed.push(job.id);
      else if (state.keys.take(job)) claimed.push(startAttempt(state, job, call, now));
      else blocked.push(job.id);
    }
  }
  state.letIn();
  state.count('blocked', blocked.length);
  state.count('replayed', replayed.length);
  return { claimed, blocked, replayed };
}

/** Ends a job whose operation was done already, with its result. */
function replay(state: MemoryQueueState, job: StoredJob): boolean {
  const outcome = job.idempotency && state.operations.outcomeOf(job.idempotency);
  if (!outcome) return false;
  job.result = outcome.result;
  state.end(job, 'done');
  return true;
}

/** Answers a claim again whose reply was lost: the jobs the worker still holds, with a fresh lease. */
export function replayClaim(state: MemoryQueueState, call: LaneCall, memory: LaneMemory): ClaimReply {
  const now = state.now();
  const claimed: ClaimedJob[] = [];
  for (const { jobId, token } of memory.claimed) {
    const job = state.jobs.get(jobId);
    if (!job?.isHeldBy(token)) continue;
    state.toTimed(job, 'processing', now + call.leaseMs);
    claimed.push(toClaimed(job, token));
  }
  const took = { ...TOOK_NOTHING, claimed };
  if (state.paused) return { ...took, more: false, nextDueInMs: undefined, now };
  return { ...took, ...lookAhead(state, now), now };
}

function startAttempt(state: MemoryQueueState, job: StoredJob, call: LaneCall, now: number): ClaimedJob {
  const token = state.mintToken();
  job.token = token;
  job.workerId = call.workerId;
  job.attempt += 1;
  job.startedAt = now;
  job.updatedAt = now;
  state.toTimed(job, 'processing', now + call.leaseMs);
  return toClaimed(job, token);
}

function toClaimed({ id, attempt, spec, firstRefusedAt }: StoredJob, token: number): ClaimedJob {
  return { jobId: id, token, attempt, spec, firstRefusedAt };
}

function lookAhead(state: MemoryQueueState, now: number): Pick<LaneReply, 'more' | 'nextDueInMs'> {
  const dueAt = state.nextDueAt();
  return {
    more: state.queuedCount() > 0,
    nextDueInMs: dueAt === Infinity ? undefined : Math.max(0, dueAt - now),
  };
}

function isPending(status: JobStatus | undefined): boolean {
  return status === 'queued' || status === 'scheduled' || status === 'retrying';
}

/** Puts the store's time in front of the fields of a JSON object. */
function stamped(error: string, now: number): string {
  return `{"at":${now},${error.slice(1)}`;
}
