/** Where every job stands, and the moves between those places. Whether a move is legal is decided by the callers. */
import type { EndedStatus, FencingToken, JobStatus } from '../../job/job.js';
import type { Retention } from '../../options/options.js';
import type { JobCounts, Stat } from '../job-store.js';
import { MemoryDedup } from './memory-dedup.js';
import { MemoryKeys, type WaitingRoom } from './memory-keys.js';
import { MemoryOperations } from './memory-operations.js';
import { MemoryStatistics } from './memory-statistics.js';
import { MemoryWake } from './memory-wake.js';
import { ReadyList } from './ready-list.js';
import type { StoredJob, TimedStatus } from './stored-job.js';
import { TimeIndex } from './time-index.js';

export type ResolvedRetention = Readonly<Record<EndedStatus, Retention>>;

const PRIORITIES = 10;
export const ENDED_STATUSES: readonly EndedStatus[] = ['done', 'dead', 'cancelled'];

export function isEnded(status: JobStatus): status is EndedStatus {
  return status === 'done' || status === 'dead' || status === 'cancelled';
}

export class MemoryQueueState implements WaitingRoom {
  readonly jobs = new Map<string, StoredJob>();
  /** One list per priority, first priority first. */
  readonly ready: readonly ReadyList[] = Array.from({ length: PRIORITIES }, () => new ReadyList());
  readonly timed: Readonly<Record<TimedStatus, TimeIndex<StoredJob>>> = {
    scheduled: new TimeIndex(),
    blocked: new TimeIndex(),
    retrying: new TimeIndex(),
    processing: new TimeIndex(),
    done: new TimeIndex(),
    dead: new TimeIndex(),
    cancelled: new TimeIndex(),
  };
  readonly statistics = new MemoryStatistics();
  readonly wake = new MemoryWake();
  readonly keys = new MemoryKeys(this);
  readonly operations = new MemoryOperations(() => this.now());
  readonly dedup = new MemoryDedup(this, () => this.now());
  paused = false;
  /** Unblocked jobs that go to the head when the running claim has been through the queue. */
  private heldBack: StoredJob[] | undefined = undefined;
  private lastToken: FencingToken = 0;

  constructor(
    private readonly retention: ResolvedRetention,
    private readonly clock: () => number,
  ) {}

  now(): number {
    return Math.floor(this.clock());
  }

  count(stat: Stat, amount = 1): void {
    this.statistics.add(stat, this.now(), amount);
  }

  /** The floor by the clock makes tokens of a restarted store greater than those it gave before. */
  mintToken(): FencingToken {
    this.lastToken = Math.max(this.lastToken + 1, this.now() * 1_000);
    return this.lastToken;
  }

  queuedCount(): number {
    return this.ready.reduce((sum, list) => sum + list.size, 0);
  }

  counts(): JobCounts {
    return {
      scheduled: this.timed.scheduled.size,
      queued: this.queuedCount(),
      blocked: this.timed.blocked.size,
      processing: this.timed.processing.size,
      retrying: this.timed.retrying.size,
      done: this.timed.done.size,
      dead: this.timed.dead.size,
      cancelled: this.timed.cancelled.size,
    };
  }

  /** When the next scheduled or retrying job is due; Infinity when there is none. */
  nextDueAt(): number {
    return Math.min(
      this.timed.scheduled.first()?.at ?? Infinity,
      this.timed.retrying.first()?.at ?? Infinity,
    );
  }

  /** Takes a new job in. */
  insert(job: StoredJob, delayMs: number): void {
    this.jobs.set(job.id, job);
    if (delayMs > 0) this.enterTimed(job, 'scheduled', job.createdAt + delayMs);
    else this.enterReady(job, 'tail');
  }

  /** Takes in a new job that waits for another one. */
  insertBlocked(job: StoredJob, blockedOn: string): void {
    this.jobs.set(job.id, job);
    job.blockedOn = blockedOn;
    job.updatedAt = job.createdAt;
    this.enterTimed(job, 'blocked', job.createdAt);
  }

  toReady(job: StoredJob, end: 'head' | 'tail'): void {
    this.leave(job);
    this.enterReady(job, end);
  }

  toTimed(job: StoredJob, status: TimedStatus, at: number): void {
    this.leave(job);
    this.enterTimed(job, status, at);
  }

  find(jobId: string): StoredJob | undefined {
    return this.jobs.get(jobId);
  }

  block(job: StoredJob, blockedOn: string): void {
    const now = this.now();
    job.blockedOn = blockedOn;
    job.updatedAt = now;
    this.toTimed(job, 'blocked', now);
  }

  unblock(job: StoredJob): void {
    job.blockedOn = undefined;
    job.updatedAt = this.now();
    if (this.heldBack) this.heldBack.push(job);
    else this.toReady(job, 'head');
    this.wake.signal();
  }

  /**
   * Ends a job now: whatever it holds or has reserved passes on. Where nothing is to be kept of such jobs it is
   * gone at once; its object still tells the status.
   */
  end(job: StoredJob, status: EndedStatus): void {
    const now = this.now();
    const isKept = this.retention[status].count > 0;
    this.leaveKeys(job, status === 'dead' && isKept);
    job.updatedAt = now;
    this.count(status);
    if (isKept) return this.toTimed(job, status, now);
    this.drop(job);
    job.status = status;
  }

  /** Deletes a job that has not ended. */
  remove(job: StoredJob): void {
    this.leaveKeys(job, false);
    this.drop(job);
  }

  private leaveKeys(job: StoredJob, mayKeepDedup: boolean): void {
    this.keys.release(job);
    if (job.idempotency) this.operations.leave(job.idempotency);
    this.dedup.leave(job, mayKeepDedup);
  }

  /**
   * Takes queued jobs off the head, first priority first. Stops after `examineMax` entries, live or not, and says
   * how many it looked at.
   */
  takeReady(max: number, examineMax: number): { readonly taken: StoredJob[]; readonly examined: number } {
    const taken: StoredJob[] = [];
    let examined = 0;
    for (const list of this.ready) {
      while (list.size > 0 && taken.length < max && examined < examineMax) {
        examined += 1;
        const job = list.shift();
        if (job) taken.push(job);
      }
    }
    return { taken, examined };
  }

  /** From now on jobs that are unblocked stay out of the queue until `letIn`. */
  holdBack(): void {
    this.heldBack = [];
  }

  /** Puts those that were held back at the head, the one that was unblocked first in front. Answers how many. */
  letIn(): number {
    const jobs = this.heldBack ?? [];
    this.heldBack = undefined;
    for (const job of jobs.toReversed()) this.toReady(job, 'head');
    return jobs.length;
  }

  /** Moves due jobs of one kind to the tail of the queue, earliest first. */
  promote(kind: 'scheduled' | 'retrying', limit: number): number {
    const now = this.now();
    const due = this.timed[kind].until(now, limit);
    for (const job of due) {
      // A job that never ran has no history yet, and waiting for its time does not start one.
      if (job.updatedAt !== undefined) job.updatedAt = now;
      this.toReady(job, 'tail');
    }
    return due.length;
  }

  /** Deletes what ended first beyond the number to be kept. */
  pruneByCount(status: EndedStatus, limit: number): number {
    const index = this.timed[status];
    const excess = Math.min(index.size - this.retention[status].count, limit);
    if (excess <= 0) return 0;
    for (const job of index.page('oldest', undefined, excess)) this.drop(job);
    return excess;
  }

  /** Deletes what ended too long ago. */
  pruneByAge(status: EndedStatus, limit: number): number {
    const keptSince = this.now() - this.retention[status].ageMs;
    const old = this.timed[status].until(keptSince, limit);
    for (const job of old) this.drop(job);
    return old.length;
  }

  /** Forgets everything about a job that has ended, or holds no key. */
  drop(job: StoredJob): void {
    // A dead one may have kept its dedup key.
    this.dedup.leave(job, false);
    this.leave(job);
    this.jobs.delete(job.id);
  }

  private enterReady(job: StoredJob, end: 'head' | 'tail'): void {
    job.status = 'queued';
    this.listOf(job).push(job, end);
  }

  private enterTimed(job: StoredJob, status: TimedStatus, at: number): void {
    job.status = status;
    job.at = at;
    this.timed[status].add(job);
  }

  private leave(job: StoredJob): void {
    if (job.status !== 'queued') this.timed[job.status].delete(job);
    // One that a claim has just taken stands nowhere.
    else if (job.position !== undefined) this.listOf(job).leave(job);
  }

  private listOf(job: StoredJob): ReadyList {
    const list = this.ready[job.priority];
    if (!list) throw new Error(`job "${job.id}" has the impossible priority ${job.priority}`);
    return list;
  }
}
