/** Where every job stands, and the moves between those places. Whether a move is legal is decided by the callers. */
import type { EndedStatus, FencingToken } from '../../job/job.js';
import type { Retention } from '../../options/options.js';
import type { JobCounts, Stat } from '../job-store.js';
import { MemoryStatistics } from './memory-statistics.js';
import { MemoryWake } from './memory-wake.js';
import { ReadyList } from './ready-list.js';
import type { StoredJob, TimedStatus } from './stored-job.js';
import { TimeIndex } from './time-index.js';

export type ResolvedRetention = Readonly<Record<EndedStatus, Retention>>;

const PRIORITIES = 10;
export const ENDED_STATUSES: readonly EndedStatus[] = ['done', 'dead', 'cancelled'];

export class MemoryQueueState {
  readonly jobs = new Map<string, StoredJob>();
  /** One list per priority, first priority first. */
  readonly ready: readonly ReadyList[] = Array.from({ length: PRIORITIES }, () => new ReadyList());
  readonly timed: Readonly<Record<TimedStatus, TimeIndex<StoredJob>>> = {
    scheduled: new TimeIndex(),
    retrying: new TimeIndex(),
    processing: new TimeIndex(),
    done: new TimeIndex(),
    dead: new TimeIndex(),
    cancelled: new TimeIndex(),
  };
  readonly statistics = new MemoryStatistics();
  readonly wake = new MemoryWake();
  paused = false;
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

  toReady(job: StoredJob, end: 'head' | 'tail'): void {
    this.leave(job);
    this.enterReady(job, end);
  }

  toTimed(job: StoredJob, status: TimedStatus, at: number): void {
    this.leave(job);
    this.enterTimed(job, status, at);
  }

  /** Ends a job now. Where nothing is to be kept of such jobs it is gone at once; its object still tells the status. */
  end(job: StoredJob, status: EndedStatus): void {
    const now = this.now();
    job.updatedAt = now;
    this.toTimed(job, status, now);
    this.count(status);
    if (this.retention[status].count === 0) this.drop(job);
  }

  /** Takes queued jobs off the head, first priority first. Stops after `examineMax` entries, live or not. */
  takeReady(max: number, examineMax: number): StoredJob[] {
    const taken: StoredJob[] = [];
    let examined = 0;
    for (const list of this.ready) {
      while (list.size > 0 && taken.length < max && examined < examineMax) {
        examined += 1;
        const job = list.shift();
        if (job) taken.push(job);
      }
    }
    return taken;
  }

  /** For a job just taken from the ready list, which stands nowhere. */
  startAttempt(job: StoredJob, deadline: number): void {
    this.enterTimed(job, 'processing', deadline);
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

  /** Forgets everything about a job. */
  drop(job: StoredJob): void {
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
    if (job.status === 'queued') this.listOf(job).leave(job);
    else this.timed[job.status].delete(job);
  }

  private listOf(job: StoredJob): ReadyList {
    const list = this.ready[job.priority];
    if (!list) throw new Error(`job "${job.id}" has the impossible priority ${job.priority}`);
    return list;
  }
}
