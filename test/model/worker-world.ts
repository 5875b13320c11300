/** Workers on a flaky store whose handlers end when the scheduler says so, by a clock of the test; and what must hold of them. */
import assert from 'node:assert/strict';
import { jest } from '@jest/globals';
import type { Scheduler } from 'fast-check';
import { PermanentError } from '#lib/errors/attempt-errors.js';
import { JobEvents } from '#lib/events/job-events.js';
import type { FencingToken } from '#lib/job/job.js';
import { resolveQueue } from '#lib/options/resolve-queue.js';
import type { LaneCall } from '#lib/store/job-store.js';
import type { JobContext } from '#lib/worker/job-context.js';
import { Worker } from '#lib/worker/worker.js';
import { newJob } from '../contract/contract-store.js';
import { FlakyStore, type Fate } from './flaky-store.js';

/** How a handler takes its end: `deaf` takes long and never looks at its signal, `hung` never returns. */
export type Manner = 'returns' | 'throws' | 'gives up' | 'obeys' | 'deaf' | 'hung';

export const CONCURRENCY = 3;
export const SHUTDOWN_MS = 10_000;
const LEASE_MS = 3_000;
const QUEUE = resolveQueue(
  'queues[0]',
  {
    ...{ name: 'jobs', concurrency: CONCURRENCY, leaseMs: LEASE_MS, maxAttempts: 2 },
    ...{ timeoutMs: 6_000, abortGraceMs: 1_000 },
    backoff: { baseDelayMs: 100, maxDelayMs: 200, jitter: 'none' },
  },
  1_000,
);
/** Timers that fire within this time do so before anything else goes on, as on a busy event loop. */
const BUSY_MS = 125;
const START_OF_TIME = 1_000_000_000_000;

interface Run {
  readonly workerId: string;
  readonly jobId: string;
  readonly token: FencingToken;
  readonly signal: AbortSignal;
}

export class WorkerWorld {
  readonly store: FlakyStore;
  readonly running = new Set<Run>();
  private readonly workers: Worker[] = [];
  private readonly stops: { readonly sinceMs: number; isOver: boolean }[] = [];
  /** Which call carries the outcome of an attempt. */
  private readonly carriers = new Map<FencingToken, string>();
  /** Attempts whose worker has noticed, while their handler ran, that the lease is lost. */
  private readonly lost = new Set<FencingToken>();
  private readonly started = new Set<FencingToken>();
  /** Lost attempts whose handler did not return in time. */
  private readonly dropped = new Set<FencingToken>();
  /** What was wrong with calls: the worker would take what is thrown there for a failure of its store. */
  private readonly wrongs: string[] = [];
  private readonly jobIds: string[] = [];
  private healed = false;

  constructor(
    private readonly scheduler: Scheduler,
    nextFate: () => Fate,
  ) {
    jest.useFakeTimers({ now: START_OF_TIME, doNotFake: ['nextTick', 'queueMicrotask', 'setImmediate'] });
    // Pauses have jitter; a failure must come again.
    jest.spyOn(Math, 'random').mockReturnValue(0.5);
    const network = {
      scheduler,
      nextFate: () => (this.healed ? 'arrives' : nextFate()),
      onCall: (call: LaneCall) => this.noteCall(call),
    };
    this.store = new FlakyStore({ queue: 'jobs', retention: QUEUE.retention }, network);
  }

  startWorker(): void {
    const events = new JobEvents();
    events.on('runaway', ({ fencingToken }) => {
      if (this.lost.has(fencingToken)) this.dropped.add(fencingToken);
      for (const run of this.running) if (run.token === fencingToken) this.running.delete(run);
    });
    const invoke = (payload: unknown, job: JobContext): Promise<string> => {
      this.started.add(job.fencingToken);
      return this.handle(payload, job);
    };
    const handler = { queue: 'jobs', type: 'test', label: 'test', payload: undefined, options: {}, invoke };
    events.on('lost', ({ fencingToken }) => void this.lost.add(fencingToken));
    const worker = new Worker({
      ...{ queue: QUEUE, store: this.store, events, shutdownTimeoutMs: SHUTDOWN_MS },
      findHandler: () => handler,
    });
    this.workers.push(worker);
    worker.start();
  }

  stopWorker(index: number): void {
    const worker = this.workers[index % this.workers.length];
    const stop = { sinceMs: Date.now(), isOver: false };
    this.stops.push(stop);
    void worker?.stop().then(() => (stop.isOver = true));
  }

  async enqueue(manner: Manner, delayMs = 0): Promise<void> {
    const id = `j${this.jobIds.length}`;
    this.jobIds.push(id);
    await this.store.enqueue([newJob(id, { delayMs, spec: `{"type":"test","payload":"${manner}"}` })]);
  }

  async cancel(index: number): Promise<void> {
    const id = this.jobIds[index % this.jobIds.length];
    if (id !== undefined) await this.store.cancel(id);
  }

  /** One call or answer arrives, or one handler comes to its end. */
  async deliver(): Promise<void> {
    if (this.scheduler.count() === 0) return;
    await this.scheduler.waitOne();
    await untilQuiet();
    await this.check();
  }

  /** Timers fire; then the reaper, which is no worker's, comes by. */
  async pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= BUSY_MS) {
      jest.advanceTimersByTime(Math.min(left, BUSY_MS));
      await untilQuiet();
      await this.check();
    }
    await this.store.reap(LEASE_MS, 100);
    await this.check();
  }

  heal(): void {
    this.healed = true;
  }

  async isDrained(): Promise<boolean> {
    const { scheduled, queued, blocked, processing, retrying } = (await this.store.snapshot()).counts;
    return scheduled + queued + blocked + processing + retrying === 0;
  }

  /** Until all is over, or for so long. */
  async drain(forMs: number): Promise<void> {
    for (const until = Date.now() + forMs; Date.now() < until && !(await this.isDrained());) {
      await this.deliverAll();
      await this.pass(250);
    }
  }

  async deliverAll(): Promise<void> {
    // A claim that finds nothing is followed by a wait, so this ends; the bound is for one that does not.
    for (let i = 0; i < 10_000 && this.scheduler.count() > 0; i += 1) await this.deliver();
    assert.equal(this.scheduler.count(), 0, 'it does not come to rest');
  }

  get hasStopped(): boolean {
    return this.stops.every(({ isOver }) => isOver);
  }

  close(): void {
    jest.restoreAllMocks();
    jest.useRealTimers();
  }

  /** With `assert`, for Jest's `expect` would take longer than everything else here. */
  private async check(): Promise<void> {
    assert.deepEqual(this.wrongs, []);
    for (const { workerId } of this.workers) {
      const slots = [...this.running].filter((run) => run.workerId === workerId);
      assert.ok(slots.length <= CONCURRENCY, `${workerId} runs ${slots.length} jobs`);
    }
    const unaware = [...this.running].filter(({ signal }) => !signal.aborted);
    const records = await this.store.read(unaware.map(({ jobId }) => jobId));
    for (const [i, { jobId, token }] of unaware.entries()) {
      // Whoever lost his lease knows it before somebody else can have it.
      const { status, token: current, leaseExpiresAt = 0 } = records[i] ?? {};
      assert.deepEqual({ status, token: current }, { status: 'processing', token }, `${jobId} is lost`);
      assert.ok(leaseExpiresAt > Date.now(), `the lease of ${jobId} is over and its handler does not know`);
    }
    for (const { sinceMs, isOver } of this.stops) {
      assert.ok(isOver || Date.now() - sinceMs <= SHUTDOWN_MS + 2 * BUSY_MS, 'a shutdown takes too long');
    }
  }

  /**
   * An outcome is offered in one call only, however often that is sent. After its lease was lost only a result is,
   * about which the store decides, and of a handler that was given up not even that. What was never started is
   * given back.
   */
  private noteCall({ workerId, lane, number, settlements, claimMax }: LaneCall): void {
    const carrier = `${workerId} ${lane} ${number}`;
    for (const { jobId, token, outcome } of settlements) {
      if ((this.carriers.get(token) ?? carrier) !== carrier) this.wrongs.push(`${jobId} is settled twice`);
      const isResult = outcome.kind === 'done' && !this.dropped.has(token);
      const isGivenBack = outcome.kind === 'release' && !this.started.has(token);
      const mayBeOffered = !this.lost.has(token) || isResult || isGivenBack;
      if (!mayBeOffered) this.wrongs.push(`${jobId} is settled although its lease was lost`);
      this.carriers.set(token, carrier);
    }
    if (claimMax > CONCURRENCY) this.wrongs.push('a call asks for more jobs than there are slots');
  }

  private async handle(payload: unknown, job: JobContext): Promise<string> {
    const { workerId, id: jobId, fencingToken: token, signal } = job;
    const run = { workerId, jobId, token, signal };
    this.running.add(run);
    try {
      return await this.behave(payload, signal, `${jobId} ends`);
    } finally {
      this.running.delete(run);
    }
  }

  private async behave(payload: unknown, signal: AbortSignal, label: string): Promise<string> {
    const aborted = new Promise<never>((_, reject) => {
      signal.addEventListener('abort', () => reject(signal.reason));
    });
    aborted.catch(() => {});
    if (payload === 'hung') return new Promise(() => {});
    if (payload === 'obeys') return aborted;
    const end = (): Promise<string> => this.scheduler.schedule(Promise.resolve('result'), label);
    if (payload === 'deaf') {
      for (let i = 0; i < 8; i += 1) await end();
      return end();
    }
    const result = await Promise.race([end(), aborted]);
    if (payload === 'throws') throw new Error('it failed');
    if (payload === 'gives up') throw new PermanentError('it is no use');
    return result;
  }
}

/** Whatever can go on without an answer or a timer has done so. */
async function untilQuiet(): Promise<void> {
  for (let i = 0; i < 3; i += 1) await new Promise((resolve) => setImmediate(resolve));
}
