/** One worker per queue and process: owns the slots, starts attempts, and shuts down in bounded time. */
import { hostname } from 'node:os';
import { randomBytes } from 'node:crypto';
import { WorkerShutdownError } from '../errors/attempt-errors.js';
import type { JobEvents } from '../events/job-events.js';
import { nextDelayMs } from '../job/backoff.js';
import type { Outcome } from '../job/outcome.js';
import { INTERNAL } from '../options/defaults.js';
import type { ResolvedQueueOptions } from '../options/resolve-options.js';
import type { ClaimedJob, JobStore } from '../store/job-store.js';
import { Attempt } from './attempt.js';
import { ClaimAhead } from './claim-ahead.js';
import { ClaimLoop } from './claim-loop.js';
import { classifyFailure } from './classify.js';
import type { RegisteredHandler } from './handler-registry.js';
import { LeaseKeeper } from './lease-keeper.js';
import type { OpenClaim } from './open-claims.js';
import { runAttempt, type AttemptEnvironment } from './run-attempt.js';
import { Settler } from './settler.js';

export interface WorkerDependencies {
  readonly queue: ResolvedQueueOptions;
  readonly store: JobStore;
  readonly events: JobEvents;
  readonly findHandler: (type: string) => RegisteredHandler | undefined;
  readonly shutdownTimeoutMs: number;
}

export class Worker {
  readonly workerId = newWorkerId();
  private readonly running = new Set<Attempt>();
  /** These wait for a slot, the first one first. */
  private readonly claimedAhead = new Set<Attempt>();
  private readonly ahead: ClaimAhead;
  private aheadTimer: NodeJS.Timeout | undefined;
  /** What was claimed ahead goes back as soon as no claim is under way. */
  private isGivingBack = false;
  private readonly settler: Settler;
  private readonly keeper: LeaseKeeper;
  private readonly loop: ClaimLoop;
  private readonly environment: AttemptEnvironment;
  private stopping: Promise<void> | undefined;
  private registered = false;
  private onDrained: (() => void) | undefined;

  constructor(private readonly dependencies: WorkerDependencies) {
    const { queue, store, events, findHandler } = dependencies;
    const { workerId } = this;
    const info = { workerId, host: hostname(), pid: process.pid, slots: queue.concurrency };
    this.settler = new Settler(events);
    this.keeper = new LeaseKeeper(store, queue, info, events, {
      onRunaway: (attempt) => this.onRunaway(attempt),
    });
    this.ahead = new ClaimAhead(queue.concurrency);
    this.loop = new ClaimLoop(store, queue, workerId, events, this.settler, this.ahead, {
      heldJobs: () => this.running.size + this.claimedAhead.size,
      onClaimed: (jobs, claim) => this.takeOn(jobs, claim),
      onSettled: (batch) => batch.forEach(({ attempt }) => this.keeper.letGo(attempt)),
    });
    const watchTimeout = (attempt: Attempt, timeoutMs: number): void =>
      this.keeper.watchTimeout(attempt, timeoutMs);
    const onAcquired = (attempt: Attempt): void => {
      if (events.has('acquired')) events.emit('acquired', attempt.ref());
    };
    const noticeExpiry = (attempt: Attempt): void => {
      if (!attempt.hasEnded) this.keeper.noticeExpiry(attempt, performance.now());
    };
    this.environment = { queue, store, workerId, findHandler, watchTimeout, noticeExpiry, onAcquired };
  }

  get queue(): string {
    return this.dependencies.queue.name;
  }

  /** ms since the claim loop last turned; 0 while every slot is busy. */
  loopAgeMs(): number {
    return this.loop.ageMs;
  }

  /** Starts working, as soon as the store can be reached. */
  start(): void {
    void this.register();
  }

  /**
   * Stops claiming, lets handlers finish, aborts the rest and gives their jobs back uncounted. Resolves
   * within `shutdownTimeoutMs`, whatever handlers and store do.
   */
  stop(): Promise<void> {
    return (this.stopping ??= this.shutDown());
  }

  private async register(): Promise<void> {
    const { events } = this.dependencies;
    const { queue, workerId } = this;
    const startedAt = performance.now();
    for (let failures = 0; !this.stopping;) {
      try {
        await this.keeper.start();
        this.registered = true;
        const outageMs = Math.round(performance.now() - startedAt);
        if (failures > 0) events.emit('store_recovered', { queue, workerId, outageMs });
        if (this.stopping) this.keeper.stop();
        else this.loop.start();
        return;
      } catch (error) {
        if (failures === 0) events.emit('store_unavailable', { queue, workerId, error });
        await sleep(nextDelayMs(INTERNAL.storeRetry, ++failures));
      }
    }
  }

  private takeOn(jobs: readonly ClaimedJob[], claim: OpenClaim): void {
    const { queue } = this.dependencies;
    const leaseDeadline = this.keeper.deadlineFrom(claim.sentAt);
    for (const job of jobs) {
      const attempt = new Attempt(job, claim, queue, this.workerId, leaseDeadline);
      this.keeper.hold(attempt);
      this.claimedAhead.add(attempt);
    }
    if (this.isGivingBack) this.giveBack();
    else this.fillSlots(performance.now());
    if (this.claimedAhead.size > 0) this.watchWait(INTERNAL.claimAheadWaitMs);
  }

  private fillSlots(now: number): void {
    const { concurrency } = this.dependencies.queue;
    for (const attempt of this.claimedAhead) {
      if (this.running.size >= concurrency) break;
      this.claimedAhead.delete(attempt);
      // A reply that came too late: someone else may have the job by now.
      this.keeper.noticeExpiry(attempt, now);
      if (attempt.abortReason) this.release(attempt);
      else void this.run(attempt);
    }
  }

  private watchWait(ms: number): void {
    this.aheadTimer ??= setTimeout(() => {
      this.aheadTimer = undefined;
      const [oldest] = this.claimedAhead;
      if (!oldest) return;
      const leftMs = oldest.takenOnAt + INTERNAL.claimAheadWaitMs - performance.now();
      if (leftMs > 0) return this.watchWait(leftMs);
      // Handlers are not as fast as they were: what waits here for a slot may find one elsewhere.
      this.ahead.startOver();
      this.giveBack();
    }, ms);
  }

  /** All at once, also those that are still on their way, so that they keep their order. */
  private giveBack(): void {
    clearTimeout(this.aheadTimer);
    this.aheadTimer = undefined;
    const isIncomplete = this.loop.isClaiming;
    this.isGivingBack = isIncomplete || this.stopping !== undefined;
    if (isIncomplete) return;
    for (const attempt of this.claimedAhead) {
      this.claimedAhead.delete(attempt);
      this.release(attempt);
    }
  }

  /** It was never started, so its attempt does not count; if its lease was lost meanwhile, the store will say so. */
  private release(attempt: Attempt): void {
    this.end(attempt, { kind: 'release' }, attempt.abortReason);
  }

  private async run(attempt: Attempt): Promise<void> {
    attempt.startedAt = performance.now();
    this.running.add(attempt);
    const { outcome, error } = await runAttempt(attempt, this.environment);
    if (attempt.hasEnded) return; // a runaway that came back; it was settled without this
    const now = performance.now();
    this.ahead.noteRun(now - attempt.startedAt);
    this.keeper.noticeExpiry(attempt, now);
    this.end(attempt, outcome, error);
    if (this.claimedAhead.size > 0 && !this.isGivingBack) this.fillSlots(now);
  }

  /** `outcome` undefined: the lease is lost and there is nothing to settle. */
  private end(attempt: Attempt, outcome: Outcome | undefined, error: unknown): void {
    attempt.hasEnded = true;
    const durationMs = Math.round(performance.now() - attempt.startedAt);
    if (outcome) {
      this.settler.add({ attempt, outcome, error, durationMs });
    } else {
      this.keeper.letGo(attempt);
      this.settler.drop(attempt);
    }
    this.running.delete(attempt);
    this.loop.schedulePump();
    if (this.running.size === 0) this.onDrained?.();
  }

  /** Its slot is given to others and the attempt settled, although its handler still runs somewhere. */
  private onRunaway(attempt: Attempt): void {
    if (this.claimedAhead.delete(attempt)) return this.release(attempt);
    const { events, store, queue } = this.dependencies;
    events.emit('runaway', { ...attempt.ref(), graceMs: queue.abortGraceMs });
    store.count('runaways', 1).catch(() => {});
    this.end(attempt, classifyFailure(attempt, attempt.abortReason), attempt.abortReason);
  }

  private async shutDown(): Promise<void> {
    const { queue, shutdownTimeoutMs, store } = this.dependencies;
    const endsAt = performance.now() + shutdownTimeoutMs;
    // Of the whole time, the last part is for handlers to react to the signal, and a little for the last calls.
    const lastCallsMs = shutdownTimeoutMs * INTERNAL.shutdownLastCallsRatio;
    const graceMs = Math.min(queue.abortGraceMs, shutdownTimeoutMs * INTERNAL.shutdownGraceRatio);
    const giveUp = setTimeout(() => this.loop.giveUp(), shutdownTimeoutMs);
    this.giveBack();
    await this.loop.stopClaiming();
    await this.untilDrained(endsAt - lastCallsMs - graceMs);
    for (const attempt of this.running) {
      this.keeper.abort(attempt, new WorkerShutdownError(attempt.jobId), graceMs);
    }
    await this.untilDrained(endsAt - lastCallsMs);
    for (const attempt of [...this.running]) this.onRunaway(attempt);
    await this.loop.drain();
    clearTimeout(giveUp);
    this.keeper.stop();
    if (!this.registered) return;
    await Promise.race([store.signOff(this.workerId).catch(() => {}), sleep(endsAt - performance.now())]);
  }

  private untilDrained(deadline: number): Promise<void> {
    if (this.running.size === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, Math.max(0, deadline - performance.now()));
      this.onDrained = () => {
        clearTimeout(timer);
        resolve();
      };
    });
  }
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, Math.max(0, ms)).unref());
}

/** Says where it runs. At most 64 characters: a longer field would double the memory of every job's run hash. */
function newWorkerId(): string {
  const host = hostname()
    .replace(/[^\w.-]/g, '_')
    .slice(0, 40);
  return `${host}-${process.pid}-${randomBytes(4).toString('hex')}`;
}
