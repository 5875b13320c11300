/**
 * The job store in this process's memory: the default without a connection, what unit tests run on, and
 * the executable specification of the port. Every method does its work synchronously, so it is atomic.
 */
import { InvalidOptionError } from '../../errors/errors.js';
import { isLegal, type FencingToken, type JobStatus, type Operation } from '../../job/job.js';
import { INTERNAL } from '../../options/defaults.js';
import type {
  HeldLease,
  JobPage,
  JobRecord,
  JobStore,
  LaneCall,
  LaneReply,
  ListQuery,
  PromoteReply,
  QueueMark,
  QueueSnapshot,
  ReapReply,
  RenewReply,
  Stat,
  TransitionReply,
  WakeListener,
  WorkerInfo,
} from '../job-store.js';
import type { EnqueueRefusal, EnqueueReply, NewJob } from '../new-job.js';
import { enqueueOne } from './memory-enqueue.js';
import { claim, CLAIMED_NOTHING, replayClaim, settle } from './memory-exchange.js';
import { listJobs } from './memory-listing.js';
import { ENDED_STATUSES, isEnded, MemoryQueueState, type ResolvedRetention } from './memory-queue-state.js';
import { reapExpired } from './memory-reap.js';
import { redriveDead } from './memory-redrive.js';
import { MemoryWorkers } from './memory-workers.js';
import type { StoredJob } from './stored-job.js';

export interface MemoryJobStoreOptions {
  readonly queue: string;
  readonly retention: ResolvedRetention;
  /** The store's time in ms. Default: `Date.now`. */
  readonly clock?: () => number;
}

export class MemoryJobStore implements JobStore {
  readonly queue: string;
  private readonly state: MemoryQueueState;
  private readonly workers = new MemoryWorkers();
  private firstHeardAt: number | undefined;

  constructor({ queue, retention, clock = Date.now }: MemoryJobStoreOptions) {
    this.queue = queue;
    this.state = new MemoryQueueState(retention, clock);
  }

  async enqueue(jobs: readonly NewJob[]): Promise<readonly (EnqueueReply | EnqueueRefusal)[]> {
    if (jobs.length > INTERNAL.enqueueChunkJobs) {
      throw new InvalidOptionError('jobs', jobs, `must be at most ${INTERNAL.enqueueChunkJobs} in one call`);
    }
    const { state } = this;
    const queued = state.queuedCount();
    const nextDueAt = state.nextDueAt();
    const replies = jobs.map((job) => enqueueOne(state, job));
    // Idle workers sleep until the due time they know of; an earlier one must be told.
    if (state.queuedCount() > queued || state.nextDueAt() < nextDueAt) state.wake.signal();
    return replies;
  }

  async exchange(call: LaneCall): Promise<LaneReply> {
    const lane = this.workers.lane(call);

    if (call.settlements.length > 0 && call.number > lane.settleNumber) {
      lane.settled = settle(this.state, call.settlements);
      lane.settleNumber = call.number;
    }
    const settled = call.settlements.length > 0 ? lane.settled : [];

    if (call.claimMax <= 0) return { settled, ...CLAIMED_NOTHING };
    if (call.number === lane.claimNumber) return { settled, ...replayClaim(this.state, call, lane) };
    const reply = claim(this.state, call);
    lane.claimed = reply.claimed;
    lane.claimNumber = call.number;
    return { settled, ...reply };
  }

  async renew(worker: WorkerInfo, leases: readonly HeldLease[], leaseMs: number): Promise<RenewReply> {
    const now = this.state.now();
    this.workers.heard(worker.workerId, now);
    this.firstHeardAt ??= now;
    const lost: string[] = [];
    const cancelRequested: string[] = [];
    for (const { jobId, token } of leases) {
      const job = this.state.jobs.get(jobId);
      if (!job?.isHeldBy(token)) {
        lost.push(jobId);
        continue;
      }
      this.state.toTimed(job, 'processing', now + leaseMs);
      if (job.cancelRequested) cancelRequested.push(jobId);
    }
    return { lost, cancelRequested };
  }

  async signOff(workerId: string): Promise<void> {
    // While it still holds leases, its calls may still come again.
    if (!this.holders().has(workerId)) this.workers.signOff(workerId);
  }

  /** A lease entry cannot vanish here, so there is nothing to look for at silent workers: `_leaseMs` has no use. */
  async reap(_leaseMs: number, limit: number): Promise<ReapReply> {
    const now = this.state.now();
    const reply = reapExpired(this.state, now, limit);
    this.workers.forgetSilent(now, () => this.holders());
    return reply;
  }

  /** The workers that hold leases. */
  private holders(): ReadonlySet<string | undefined> {
    const held = this.state.timed.processing.page('oldest', undefined, Infinity);
    return new Set(held.map(({ workerId }) => workerId));
  }

  async promote(limit: number): Promise<PromoteReply> {
    const promoted = this.state.promote('scheduled', limit) + this.state.promote('retrying', limit);
    if (promoted > 0) this.state.wake.signal();
    return { promoted, more: this.state.nextDueAt() <= this.state.now() };
  }

  async prune(limit: number): Promise<number> {
    let pruned = 0;
    for (const status of ENDED_STATUSES) {
      pruned += this.state.pruneByCount(status, limit - pruned);
      pruned += this.state.pruneByAge(status, limit - pruned);
    }
    return pruned;
  }

  async cancel(jobId: string): Promise<TransitionReply> {
    return this.transition('cancel', jobId, (job, from) => {
      if (from !== 'processing') {
        this.state.end(job, 'cancelled');
        return { kind: 'moved', from };
      }
      job.cancelRequested = true;
      return { kind: 'requested' };
    });
  }

  async remove(jobId: string): Promise<TransitionReply> {
    return this.transition('remove', jobId, (job, from) => {
      // What an ended one held was passed on when it ended.
      if (isEnded(from)) this.state.drop(job);
      else this.state.remove(job);
      return { kind: 'moved', from };
    });
  }

  async redrive(jobId: string): Promise<TransitionReply> {
    return this.transition('redrive', jobId, (job) => redriveDead(this.state, job));
  }

  private transition(
    operation: Operation,
    jobId: string,
    move: (job: StoredJob, from: JobStatus) => TransitionReply,
  ): TransitionReply {
    const job = this.state.jobs.get(jobId);
    if (!job) return { kind: 'not_found' };
    return isLegal(operation, job.status) ? move(job, job.status) : { kind: 'illegal', status: job.status };
  }

  async pause(): Promise<void> {
    this.state.paused = true;
  }

  async resume(): Promise<void> {
    this.state.paused = false;
    this.state.wake.signal();
  }

  async read(jobIds: readonly string[]): Promise<readonly (JobRecord | undefined)[]> {
    return jobIds.map((jobId) => this.state.jobs.get(jobId)?.toRecord());
  }

  async list(query: ListQuery): Promise<JobPage> {
    return listJobs(this.state, query);
  }

  async snapshot(): Promise<QueueSnapshot> {
    const now = this.state.now();
    const ages = this.state.ready.map((list) => now - (list.peek()?.createdAt ?? now));
    return {
      counts: this.state.counts(),
      paused: this.state.paused,
      oldestReadyAgeMs: Math.max(0, ...ages),
      lifetime: this.state.statistics.total(),
    };
  }

  async mark(): Promise<QueueMark> {
    const counters = Object.values(this.state.statistics.total());
    return { createdAt: this.firstHeardAt, counted: counters.reduce((sum, count) => sum + count, 0) };
  }

  async recent(stats: readonly Stat[], windowMs: number): Promise<Readonly<Partial<Record<Stat, number>>>> {
    return this.state.statistics.recent(stats, this.state.now(), windowMs);
  }

  async count(stat: 'runaways', amount: number): Promise<void> {
    this.state.count(stat, amount);
  }

  async readCheckpoint(jobId: string): Promise<string | undefined> {
    return this.state.jobs.get(jobId)?.checkpoint;
  }

  async writeCheckpoint(jobId: string, token: FencingToken, value: string): Promise<boolean> {
    const job = this.state.jobs.get(jobId);
    if (!job?.isHeldBy(token)) return false;
    job.checkpoint = value;
    return true;
  }

  listenForWork(): WakeListener {
    return this.state.wake.listen();
  }

  async wake(): Promise<void> {
    this.state.wake.signal();
  }
}
