/**
 * Drives the lanes: each call settles what has ended and claims what fits. It decides when to call, and
 * repeats a call under the same number until the store has answered it; what a job is, it does not know.
 */
import type { JobEvents } from '../events/job-events.js';
import { nextDelayMs } from '../job/backoff.js';
import { INTERNAL } from '../options/defaults.js';
import type { ResolvedQueueOptions } from '../options/resolve-options.js';
import type { ClaimedJob, JobStore, LaneCall, LaneReply, WakeListener } from '../store/job-store.js';
import type { ClaimAhead } from './claim-ahead.js';
import type { OpenClaim } from './open-claims.js';
import type { EndedAttempt, SettleBatch, Settler } from './settler.js';

export interface ClaimLoopHooks {
  /** Jobs that the worker holds and that have not ended, those without a slot included. */
  readonly heldJobs: () => number;
  readonly onClaimed: (jobs: readonly ClaimedJob[], claim: OpenClaim) => void;
  /** The store has answered for these; their leases are over. */
  readonly onSettled: (batch: readonly EndedAttempt[]) => void;
}

interface Lane {
  readonly index: number;
  lastNumber: number;
  busy: boolean;
}

// setTimeout cannot wait longer; a later due time is asked for again at the next poll anyway.
const LONGEST_TIMER_MS = 2 ** 31 - 1;

export class ClaimLoop {
  private readonly lanes: Lane[];
  private listener: WakeListener | undefined;
  private listening = false;
  private dueTimer: NodeJS.Timeout | undefined;
  private pumpScheduled = false;
  /** The store had nothing more when last asked; only a wake-up, a due time or the poll changes that. */
  private drained = true;
  /** One of those came: one call shall look, and only if it finds more than it can take do others follow. */
  private mayHaveWork = true;
  /** Every slot was busy when the loop last looked: no turn was due since. */
  private wasFull = false;
  private claiming = false;
  private claimsInFlight = 0;
  private lastTurnAt = performance.now();
  private outageSince: number | undefined;
  private readonly gaveUp = new AbortController();
  private onIdle: (() => void) | undefined;

  constructor(
    private readonly store: JobStore,
    private readonly queue: ResolvedQueueOptions,
    private readonly workerId: string,
    private readonly events: JobEvents,
    private readonly settler: Settler,
    private readonly ahead: ClaimAhead,
    private readonly hooks: ClaimLoopHooks,
  ) {
    this.lanes = Array.from({ length: INTERNAL.lanes }, (_, index) => ({
      index,
      lastNumber: 0,
      busy: false,
    }));
  }

  /** Jobs that the worker wants to hold: its slots, and what it claims ahead. */
  private get capacity(): number {
    return this.queue.concurrency + this.ahead.allowance;
  }

  /** Age in ms of the last turn; 0 while every slot is busy, since there is nothing to turn for. */
  get ageMs(): number {
    return this.wasFull ? 0 : performance.now() - this.lastTurnAt;
  }

  start(): void {
    this.claiming = true;
    this.lastTurnAt = performance.now();
    this.listener = this.store.listenForWork();
    this.pump();
  }

  /** No more claims; outcomes are still settled. */
  async stopClaiming(): Promise<void> {
    this.claiming = false;
    clearTimeout(this.dueTimer);
    await this.listener?.close();
  }

  /** Resolves when nothing is left to settle and no call is in flight, or when it is given up. */
  async drain(): Promise<void> {
    const isBusy = (): boolean => this.settler.size > 0 || this.lanes.some(({ busy }) => busy);
    // It may have been given up before this is called: an event loop that was blocked fires its timers late.
    while (!this.gaveUp.signal.aborted && isBusy()) {
      await new Promise<void>((resolve) => {
        this.onIdle = resolve;
        this.pump();
      });
    }
  }

  /** Stops repeating unanswered calls; leases that stay open run out by themselves. */
  giveUp(): void {
    this.gaveUp.abort();
    this.onIdle?.();
  }

  /** Jobs may still come that belong behind those the worker has. */
  get isClaiming(): boolean {
    return this.claimsInFlight > 0;
  }

  /** An attempt has ended: all that end in this turn of the event loop go into one call. */
  schedulePump(): void {
    if (this.pumpScheduled) return;
    if (this.wasFull) this.lastTurnAt = performance.now();
    this.wasFull = false;
    this.pumpScheduled = true;
    setImmediate(() => {
      this.pumpScheduled = false;
      this.pump();
    });
  }

  private pump(): void {
    const { capacity } = this;
    // Half of it per call, or one lane would take all and leave the other without work.
    const perCall = Math.min(Math.ceil(capacity / INTERNAL.lanes), INTERNAL.callMax);
    for (const lane of this.lanes) {
      if (lane.busy || this.gaveUp.signal.aborted) continue;
      const batch = this.settler.take(INTERNAL.callMax);
      const room = this.claiming
        ? Math.min(perCall, capacity - this.hooks.heldJobs() - this.claimsInFlight)
        : 0;
      // A claim rides along with a settlement for nothing; on its own it needs a reason.
      const wanted = batch.ended.length > 0 || !this.drained || this.mayHaveWork;
      const claimMax = wanted ? Math.max(0, room) : 0;
      if (batch.ended.length === 0 && claimMax === 0) continue;
      if (claimMax > 0) this.mayHaveWork = false;
      void this.turn(lane, batch, claimMax);
    }
    this.listen();
    const isIdle = this.settler.size === 0 && this.lanes.every(({ busy }) => !busy);
    this.wasFull = isIdle && !this.hasRoom();
    if (isIdle) this.onIdle?.();
  }

  /** Whether a job that is claimed now would find a slot at once. */
  private hasRoom(): boolean {
    return this.hooks.heldJobs() < this.queue.concurrency;
  }

  private async turn(lane: Lane, batch: SettleBatch, claimMax: number): Promise<void> {
    lane.busy = true;
    this.claimsInFlight += claimMax;
    const number = ++lane.lastNumber;
    const { settlements, endedClaims } = batch;
    const { leaseMs } = this.queue;
    const { workerId } = this;
    const answer = await this.callUntilAnswered({
      workerId,
      lane: lane.index,
      number,
      settlements,
      endedClaims,
      claimMax,
      leaseMs,
    });
    lane.busy = false;
    this.claimsInFlight -= claimMax;
    if (answer) {
      const { reply, sentAt } = answer;
      this.lastTurnAt = performance.now();
      this.ahead.noteCall(this.lastTurnAt - sentAt);
      this.hooks.onSettled(batch.ended);
      this.settler.announce(batch, reply.settled);
      if (reply.now !== undefined) {
        const { claimed, now: storeNow } = reply;
        this.hooks.onClaimed(claimed, {
          name: `${lane.index}:${number}`,
          sentAt,
          storeNow,
          jobsLeft: claimed.length,
        });
      }
      if (claimMax > 0) {
        this.noteSupply(reply);
        this.announceKeyed(reply);
      }
    }
    this.pump();
  }

  private noteSupply({ more, nextDueInMs }: LaneReply): void {
    this.drained = !more;
    clearTimeout(this.dueTimer);
    if (nextDueInMs === undefined || !this.claiming) return;
    this.dueTimer = setTimeout(() => this.lookAgain(), Math.min(Math.max(1, nextDueInMs), LONGEST_TIMER_MS));
  }

  /** What became of jobs with keys that were not started. */
  private announceKeyed({ blocked, replayed }: LaneReply): void {
    const { name: queue } = this.queue;
    for (const jobId of blocked) this.events.emit('blocked', { queue, jobId, workerId: this.workerId });
    for (const jobId of replayed) this.events.emit('replayed', { queue, jobId, workerId: this.workerId });
  }

  private lookAgain(): void {
    this.mayHaveWork = true;
    this.pump();
  }

  /** Sends the call again, under its number, until it is answered. The store carries it out once. */
  private async callUntilAnswered(call: LaneCall): Promise<{ reply: LaneReply; sentAt: number } | undefined> {
    for (let failures = 0; !this.gaveUp.signal.aborted;) {
      // A replayed claim renews its leases, so the last sending counts.
      const sentAt = performance.now();
      try {
        const reply = await this.store.exchange(call);
        this.noteRecovery();
        return { reply, sentAt };
      } catch (error) {
        this.noteOutage(error);
        await this.pause(nextDelayMs(INTERNAL.storeRetry, ++failures));
      }
    }
    return undefined;
  }

  private noteOutage(error: unknown): void {
    if (this.outageSince !== undefined) return;
    this.outageSince = performance.now();
    this.events.emit('store_unavailable', { queue: this.queue.name, workerId: this.workerId, error });
  }

  private noteRecovery(): void {
    if (this.outageSince === undefined) return;
    const outageMs = Math.round(performance.now() - this.outageSince);
    this.outageSince = undefined;
    this.events.emit('store_recovered', { queue: this.queue.name, workerId: this.workerId, outageMs });
  }

  private pause(ms: number): Promise<void> {
    // A call may fail after it was given up, and an abort that is over is not heard.
    if (this.gaveUp.signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.gaveUp.signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.gaveUp.signal.addEventListener('abort', done);
    });
  }

  /** Sleeps on the wake list while there is room for work and none to be had. */
  private listen(): void {
    const needsWork = this.drained && this.hasRoom();
    if (this.listening || !this.claiming || !needsWork || !this.listener) return;
    void this.sleepUntilWoken(this.listener);
  }

  private async sleepUntilWoken(listener: WakeListener): Promise<void> {
    this.listening = true;
    const heard = await listener.wait(INTERNAL.idlePollMs);
    this.listening = false;
    const canUse = this.claiming && this.hasRoom();
    if (heard === 'woken' && !canUse) this.passWakeOn();
    else if (this.claiming) this.lookAgain();
  }

  /** The wake-up was meant for a worker with a free slot. If this is lost too, the polls of the others make up for it. */
  private passWakeOn(): void {
    this.store.wake().catch(() => {});
  }
}
