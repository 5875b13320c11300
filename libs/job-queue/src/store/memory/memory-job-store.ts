/**
 * The job store in this process's memory: the default without a connection, what unit tests run on, and
 * the executable specification of the port. Every method does its work synchronously, so it is atomic.
 */
import { InvalidOptionError } from '../../errors/errors.js';
import { isLegal, type FencingToken, type Operation } from '../../job/job.js';
import { INTERNAL } from '../../options/defaults.js';
import type {
  EnqueueReply,
  HeldLease,
  JobPage,
  JobRecord,
  JobStore,
  LaneCall,
  LaneReply,
  ListQuery,
  NewJob,
  PromoteReply,
  QueueSnapshot,
  ReapReply,
  RenewReply,
  Stat,
  TransitionReply,
  WakeListener,
  WorkerInfo,
} from '../job-store.js';
import { claim, replayClaim, settle, type ClaimReply } from './memory-exchange.js';
import { listJobs } from './memory-listing.js';
import { ENDED_STATUSES, MemoryQueueState, type ResolvedRetention } from './memory-queue-state.js';
import { reapExpired } from './memory-reap.js';
import { MemoryWorkers } from './memory-workers.js';
import { StoredJob } from './stored-job.js';

export interface MemoryJobStoreOptions {
  readonly queue: string;
  readonly retention: ResolvedRetention;
  /** The store's time in ms. Default: `Date.now`. */
  readonly clock?: () => number;
}

const CLAIMED_NOTHING: ClaimReply = { claimed: [], more: false, nextDueInMs: undefined, now: undefined };

export class MemoryJobStore implements JobStore {
  readonly queue: string;
  private readonly state: MemoryQueueState;
  private readonly workers = new MemoryWorkers();

  constructor({ queue, retention, clock = Date.now }: MemoryJobStoreOptions) {
    this.queue = queue;
    this.state = new MemoryQueueState(retention, clock);
  }

  async enqueue(jobs: readonly NewJob[]): Promise<readonly EnqueueReply[]> {
    if (jobs.length > INTERNAL.enqueueChunkJobs) {
      throw new InvalidOptionError('jobs', jobs, `must be at most ${INTERNAL.enqueueChunkJobs} in one call`);
    }
    const nextDueAt = this.state.nextDueAt();
    const replies = jobs.map((job) => this.enqueueOne(job));
    const becameReady = replies.some(({ status, duplicate }) => status === 'queued' && !duplicate);
    // Idle workers sleep until the due time they know of; an earlier one must be told.
    if (becameReady || this.state.nextDueAt() < nextDueAt) this.state.wake.signal();
    return replies;
  }

  private enqueueOne({ id, spec, priority, delayMs }: NewJob): EnqueueReply {
    const present = this.state.jobs.get(id);
    if (present) {
      this.state.count('duplicates');
      return { jobId: id, status: present.status, duplicate: true };
    }
    const now = this.state.now();
    const job = new StoredJob(id, `{"created_at":${now},${spec.slice(1)}`, priority, now);
    this.state.insert(job, delayMs);
    this.state.count('enqueued');
    return { jobId: id, status: job.status, duplicate: false };
  }

  async exchange(call: LaneCall): Promise<LaneReply> {
    const lane = this.workers.lane(call, this.state.now());

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
    this.workers.signOff(workerId);
  }

  /** A lease entry cannot vanish here, so there is nothing to look for at silent workers: `_leaseMs` has no use. */
  async reap(_leaseMs: number, limit: number): Promise<ReapReply> {
    const now = this.state.now();
    const reply = reapExpired(this.state, now, limit);
    this.workers.forgetSilent(now, () => {
      const held = this.state.timed.processing.page('oldest', undefined, Infinity);
      return new Set(held.map(({ workerId }) => workerId));
    });
    return reply;
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
    return this.transition('cancel', jobId, (job) => {
      if (job.status !== 'processing') return this.state.end(job, 'cancelled');
      job.cancelRequested = true;
    });
  }

  async remove(jobId: string): Promise<TransitionReply> {
    return this.transition('remove', jobId, (job) => this.state.drop(job));
  }

  async redrive(jobId: string): Promise<TransitionReply> {
    return this.transition('redrive', jobId, (job) => {
      job.attemptsBeforeRedrive += job.attempt;
      job.attempt = 0;
      job.redriveCount += 1;
      job.deadReason = undefined;
      job.firstRefusedAt = undefined;
      job.cancelRequested = false;
      job.updatedAt = this.state.now();
      this.state.toReady(job, 'tail');
      this.state.count('redriven');
      this.state.wake.signal();
    });
  }

  private transition(operation: Operation, jobId: string, move: (job: StoredJob) => void): TransitionReply {
    const job = this.state.jobs.get(jobId);
    if (!job) return { kind: 'not_found' };
    const from = job.status;
    if (!isLegal(operation, from)) return { kind: 'illegal', status: from };
    move(job);
    // Only a cancel starts from there, and it leaves the end to the worker.
    return from === 'processing' ? { kind: 'requested' } : { kind: 'moved', from };
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
