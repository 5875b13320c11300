/**
 * A producer and a worker under load, with a record of what was promised and what was done: so that a test can take
 * servers away meanwhile and say afterwards what was lost.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import {
  EnqueueRefusedError,
  EnqueueUnknownError,
  JobHandler,
  type EnqueueOptions,
  type JobContext,
  type JobQueueModuleOptions,
} from '@fenceline/nestjs';
import { eventually } from './eventually.js';
import { QUICK_QUEUE, startApp, type TestApp } from './nest-app.js';

const AT_ONCE = 20;

export interface Run {
  readonly id: string;
  readonly token: number;
  /** performance.now() */
  readonly at: number;
}

export interface LoadShape {
  /** Of each of the producers, after each job. */
  readonly pauseMs?: number;
  /** Of the n-th job. */
  readonly optionsOf?: (n: number) => EnqueueOptions;
}

@Injectable()
class Recorder {
  readonly runs: Run[] = [];

  @JobHandler('work')
  async work(_payload: unknown, { id, fencingToken }: JobContext): Promise<void> {
    this.runs.push({ id, token: fencingToken, at: performance.now() });
    await sleep(2);
  }
}

export class SteadyLoad {
  /** Jobs whose enqueue resolved, and when. */
  readonly accepted = new Map<string, number>();
  /** When their enqueue was called. */
  private readonly offered = new Map<string, number>();
  readonly refused: string[] = [];
  readonly unknown: string[] = [];
  private producing = true;
  private sequence = 0;
  private readonly producers: Promise<void>[];

  private constructor(
    readonly app: TestApp,
    private readonly shape: Required<LoadShape>,
  ) {
    this.producers = Array.from({ length: AT_ONCE }, () => this.produce());
  }

  static async start(
    options: JobQueueModuleOptions,
    { pauseMs = 5, optionsOf = () => ({}) }: LoadShape = {},
  ): Promise<SteadyLoad> {
    const { queues = [QUICK_QUEUE], ...rest } = options;
    // Or what was done long ago would look lost.
    const kept = queues.map((queue) => ({ ...queue, retention: { done: { count: 10_000_000 } } }));
    const app = await startApp({ options: { ...rest, queues: kept }, providers: [Recorder] });
    return new SteadyLoad(app, { pauseMs, optionsOf });
  }

  /** In the order in which they began. */
  get runs(): readonly Run[] {
    return this.app.context.get(Recorder).runs;
  }

  async stopProducing(): Promise<void> {
    this.producing = false;
    await Promise.all(this.producers);
  }

  /** Accepted jobs that are in no state any more. */
  async lost(): Promise<string[]> {
    const lost: string[] = [];
    for (const id of this.accepted.keys()) {
      const found = await this.app.inspector.get(id).catch(() => undefined);
      if (!found) lost.push(id);
    }
    return lost;
  }

  /** Jobs that ran more than once. */
  repeated(): number {
    return this.runs.length - new Set(this.runs.map(({ id }) => id)).size;
  }

  /**
   * Runs with a token that is not above those of all runs that had begun before their job was enqueued: theirs was
   * certainly given out later. The order of beginnings says less, since a claim whose reply was lost is
   * answered again after later ones.
   */
  tokensOutOfOrder(): number {
    const begun = this.runs.toSorted((a, b) => a.at - b.at);
    const byEnqueue = this.runs.toSorted((a, b) => this.enqueuedAt(a) - this.enqueuedAt(b));
    let highest = 0;
    let next = 0;
    let count = 0;
    for (const run of byEnqueue) {
      for (let earlier = begun[next]; earlier && earlier.at < this.enqueuedAt(run); earlier = begun[++next]) {
        highest = Math.max(highest, earlier.token);
      }
      if (run.token <= highest) count += 1;
    }
    return count;
  }

  /** One whose enqueue was not answered may have been stored at any time. */
  private enqueuedAt({ id }: Run): number {
    return this.offered.get(id) ?? -Infinity;
  }

  /** Until every accepted job has ended. */
  async drain(timeoutMs = 30_000): Promise<void> {
    await eventually(
      async () => {
        const { counts } = await this.app.inspector.snapshot();
        return counts.queued + counts.scheduled + counts.processing + counts.retrying + counts.blocked === 0;
      },
      { timeoutMs, what: 'draining' },
    );
  }

  /** How long nothing ran at most, ms, between two moments of performance.now(). */
  longestGapMs(from: number, to: number): number {
    const times = [from, ...this.runs.map(({ at }) => at).filter((at) => at > from && at < to), to];
    return Math.max(...times.slice(1).map((at, i) => at - (times[i] ?? at)));
  }

  async close(): Promise<void> {
    this.producing = false;
    await this.app.close();
    await Promise.all(this.producers);
  }

  private async produce(): Promise<void> {
    while (this.producing) {
      const offeredAt = performance.now();
      try {
        const { jobId } = await this.app.queue.enqueue('work', {}, this.shape.optionsOf(this.sequence++));
        this.accepted.set(jobId, performance.now());
        this.offered.set(jobId, offeredAt);
      } catch (error) {
        if (error instanceof EnqueueRefusedError) this.refused.push(error.jobId);
        else if (error instanceof EnqueueUnknownError) this.unknown.push(error.jobId);
        else throw error;
      }
      await sleep(this.shape.pauseMs);
    }
  }
}
