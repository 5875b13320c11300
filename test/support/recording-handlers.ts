/** Handlers that note what they ran, and hold a job for as long as the test wants. */
import { Injectable } from '@nestjs/common';
import { JobHandler, type JobContext } from '@fenceline/nestjs';
import { Gate } from './gate.js';

export interface Run {
  readonly jobId: string;
  readonly attempt: number;
  readonly token: number;
  readonly signal: AbortSignal;
  readonly job: JobContext;
}

@Injectable()
export class RecordingHandlers {
  readonly runs: Run[] = [];
  private readonly gates = new Map<string, Gate>();

  runsOf(jobId: string): readonly Run[] {
    return this.runs.filter((run) => run.jobId === jobId);
  }

  /** Lets a `hold` return, now or when it starts. */
  finish(jobId: string): void {
    this.gateOf(jobId).open();
  }

  @JobHandler('note')
  note(_payload: unknown, job: JobContext): string {
    this.record(job);
    return 'noted';
  }

  /** Runs until the test says `finish`; deaf to its signal. */
  @JobHandler('hold')
  async hold(_payload: unknown, job: JobContext): Promise<string> {
    this.record(job);
    await this.gateOf(job.id).passed();
    return 'held';
  }

  private record(job: JobContext): void {
    const { id: jobId, attempt, fencingToken: token, signal } = job;
    this.runs.push({ jobId, attempt, token, signal, job });
  }

  private gateOf(jobId: string): Gate {
    const gate = this.gates.get(jobId) ?? new Gate();
    this.gates.set(jobId, gate);
    return gate;
  }
}
