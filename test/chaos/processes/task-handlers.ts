/** The handler of a chaos run: does what its payload says and writes down what it does. */
import { setTimeout as sleep } from 'node:timers/promises';
import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import {
  IdempotencyService,
  JobHandler,
  LockService,
  PermanentError,
  StaleFenceError,
  type JobContext,
} from '@fenceline/nestjs';
import { monotonicNow, type Asked } from '../history/entry.js';
import { HistoryWriter } from '../history/history-writer.js';
import { JOB_TYPE, type Task } from './protocol.js';
import { RowClient } from './row-client.js';

export interface TaskPayload {
  readonly task: Task;
  readonly asked: Asked;
}

/** What a handler returns; the checker compares it with the token that Redis has for the job. */
export interface TaskResult {
  readonly token: number;
}

@Injectable()
export class TaskHandlers implements OnApplicationShutdown {
  constructor(
    @Inject(HistoryWriter) private readonly history: HistoryWriter,
    @Inject(RowClient) private readonly rows: RowClient,
    private readonly locks: LockService,
    private readonly idempotency: IdempotencyService,
  ) {}

  onApplicationShutdown(): void {
    this.rows.close();
  }

  @JobHandler(JOB_TYPE)
  async run({ task, asked }: TaskPayload, job: JobContext): Promise<TaskResult> {
    const ref = { jobId: job.id, token: job.fencingToken };
    const { attempt, workerId } = job;
    this.history.record({ kind: 'run_started', ...ref, attempt, workerId, asked });
    let threw = true;
    try {
      await this.perform(task, job);
      threw = false;
    } finally {
      this.history.record({ kind: 'run_ended', ...ref, aborted: job.signal.aborted, threw });
    }
    return { token: job.fencingToken };
  }

  private async perform(task: Task, job: JobContext): Promise<void> {
    switch (task.does) {
      case 'return':
        return;
      case 'act':
        return this.act(task.steps, task.stepMs, job);
      case 'fail_once':
        if (job.attempt === 1) throw new Error('fails once');
        return;
      case 'fail_always':
        throw new Error('fails always');
      case 'fail_for_good':
        throw new PermanentError('no retry can help');
      case 'write_row':
        return this.writeRow(task.row, task.holdMs, job);
      case 'lock':
        return this.lock(task.name, task.holdMs, job);
      case 'operate':
        return this.operate(task.key, job);
      case 'continue':
        return this.goOn(task.steps, job);
      case 'block':
        return this.block(task.ms, job);
    }
  }

  /** About to do something for which it must hold its lease. */
  private recordAct(job: JobContext): void {
    const { aborted } = job.signal;
    this.history.record({ kind: 'run_acted', jobId: job.id, token: job.fencingToken, aborted });
    job.signal.throwIfAborted();
  }

  private async act(steps: number, stepMs: number, job: JobContext): Promise<void> {
    for (let step = 0; step < steps; step++) {
      await sleep(stepMs);
      this.recordAct(job);
    }
  }

  private async writeRow(row: string, holdMs: number, job: JobContext): Promise<void> {
    await this.rows.write({ row, token: job.fencingToken });
    await sleep(holdMs);
    // Without a look at the signal: this is what the fence is for.
    await this.rows.write({ row, token: job.fencingToken });
    this.recordAct(job);
  }

  private async lock(name: string, holdMs: number, job: JobContext): Promise<void> {
    await this.locks.using(name, { ttlMs: 1_000, waitMs: 5_000, signal: job.signal }, async (lease) => {
      const token = lease.fencingToken;
      const heldUntil = (): number => monotonicNow() + lease.deadline - performance.now();
      this.history.record({ kind: 'lock_acquired', name, token, heldUntil: heldUntil() });
      await this.rows.write({ row: `locked:${name}`, token });
      await sleep(holdMs);
      await this.rows.write({ row: `locked:${name}`, token });
      const { aborted } = lease.signal;
      this.history.record({ kind: 'lock_left', name, token, heldUntil: heldUntil(), aborted });
      await this.setFenced(name, lease);
    });
  }

  private async setFenced(key: string, lease: { owner: string; fencingToken: number }): Promise<void> {
    try {
      await this.locks.fencedSet(key, String(lease.fencingToken), lease);
      this.history.record({ kind: 'fenced_set', key, token: lease.fencingToken });
    } catch (error) {
      if (!(error instanceof StaleFenceError)) throw error;
    }
  }

  private async operate(key: string, job: JobContext): Promise<void> {
    const options = { leaseMs: 1_000, waitMs: 3_000, signal: job.signal };
    const unrecorded = new Set<string>();
    const stopListening = this.idempotency.events.on(({ event, fencingToken }) => {
      if (event === 'unrecorded') unrecorded.add(String(fencingToken));
    });
    try {
      const result = await this.idempotency.run(key, options, async ({ fencingToken, signal }) => {
        this.history.record({ kind: 'operation_started', key, token: fencingToken });
        await sleep(20);
        signal.throwIfAborted();
        return String(fencingToken);
      });
      // Redis could not be told: then the result stands for this caller only.
      if (!unrecorded.has(result)) this.history.record({ kind: 'operation_done', key, result });
    } finally {
      stopListening();
    }
  }

  private async goOn(steps: number, job: JobContext): Promise<void> {
    const done = (await job.checkpoint.get<number>()) ?? 0;
    for (let step = done; step < steps; step++) {
      await sleep(20);
      await job.checkpoint.set(step + 1);
    }
  }

  private block(ms: number, job: JobContext): void {
    if (job.attempt > 1) return;
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
    const { aborted } = job.signal;
    this.history.record({ kind: 'run_acted', jobId: job.id, token: job.fencingToken, aborted });
  }
}
