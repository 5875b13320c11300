/** A producer process of a chaos run: enqueues until it is told to stop, and writes down what it was answered. */
import 'reflect-metadata';
import { setTimeout as sleep } from 'node:timers/promises';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  EnqueueRefusedError,
  FencelineError,
  JobQueueModule,
  QueueInspector,
  QueueService,
} from '@fenceline/nestjs';
import { HistoryWriter } from '../history/history-writer.js';
import { Random } from '../random.js';
import { planJob, type PlannedJob } from './plan-job.js';
import { JOB_TYPE, readOptions, type FromChaosProcess, type Task, type ToChaosProcess } from './protocol.js';

const LANES = 16;
const REPEATS_UNKNOWN = 0.7;
const REPEAT_PAUSE_MS = 100;
const BULK_JOBS = 10;
const MOST_QUEUED = 600;
const BACKLOG_INTERVAL_MS = 100;
const BULK_SHARE = 0.6;

const options = readOptions();
const history = new HistoryWriter(options.folder, options.name);
history.record({ kind: 'booted', role: 'producer', pid: process.pid });

@Module({
  imports: [
    JobQueueModule.forRoot({
      connection: { url: options.url },
      prefix: options.prefix,
      logging: false,
      ...options.module,
      worker: false,
    }),
  ],
})
class ChaosProducerModule {}

const app = await NestFactory.createApplicationContext(ChaosProducerModule, { logger: ['fatal'] });
const queue = app.get(QueueService);
const random = new Random(options.seed, options.name);
let produced = 0;
let isProducing = true;
let hasBacklog = false;

/** Answers whether it is settled: stored or certainly not. */
async function enqueue({ jobId, payload, options: given }: PlannedJob): Promise<boolean> {
  history.record({ kind: 'enqueue_attempted', jobId, asked: payload.asked });
  try {
    const { jobId: storedId, duplicate } = await queue.enqueue(JOB_TYPE, payload, { ...given, jobId });
    history.record({ kind: 'enqueue_acknowledged', jobId, storedId, duplicate });
    return true;
  } catch (error) {
    return recordFailure(jobId, error);
  }
}

async function enqueueMany(jobs: readonly PlannedJob[]): Promise<void> {
  for (const { jobId, payload } of jobs) {
    history.record({ kind: 'enqueue_attempted', jobId, asked: payload.asked });
  }
  const results = await queue.enqueueMany(
    jobs.map(({ jobId, payload, options: given }) => ({
      job: JOB_TYPE,
      payload,
      options: { ...given, jobId },
    })),
  );
  for (const [index, result] of results.entries()) {
    const jobId = jobs[index]?.jobId ?? '';
    if (result.ok) {
      const { jobId: storedId, duplicate } = result;
      history.record({ kind: 'enqueue_acknowledged', jobId, storedId, duplicate });
    } else recordFailure(jobId, result.error);
  }
}

function recordFailure(jobId: string, error: unknown): boolean {
  const code = error instanceof FencelineError ? error.code : String(error);
  const isRefused = error instanceof EnqueueRefusedError;
  history.record({ kind: isRefused ? 'enqueue_refused' : 'enqueue_unknown', jobId, code });
  return isRefused;
}

async function enqueueTasks(jobs: number, task: Task): Promise<void> {
  for (let i = 0; i < jobs; i++) {
    const { jobId } = planJob(options.name, ++produced, random);
    await enqueue({ jobId, payload: { task, asked: { maxAttempts: 20 } }, options: { maxAttempts: 20 } });
  }
}

/** A backlog would make the time that everything takes after healing a matter of throughput. */
async function watchBacklog(): Promise<void> {
  while (isProducing) {
    try {
      const { counts } = await app.get(QueueInspector).snapshot();
      hasBacklog = counts.queued > MOST_QUEUED;
    } catch {
      // Redis is away; so is the backlog's growth.
    }
    await sleep(BACKLOG_INTERVAL_MS);
  }
}

async function runLane(): Promise<void> {
  const pauseMs = (1_000 * LANES) / options.jobsPerSecond;
  while (isProducing) {
    if (hasBacklog) {
      await sleep(BACKLOG_INTERVAL_MS);
      continue;
    }
    if (random.chance(BULK_SHARE / BULK_JOBS)) {
      const jobs = Array.from({ length: BULK_JOBS }, () => planJob(options.name, ++produced, random));
      await enqueueMany(jobs);
    } else {
      const job = planJob(options.name, ++produced, random);
      const isSettled = await enqueue(job);
      // The same id again: one job, whatever became of the first call.
      if (!isSettled && random.chance(REPEATS_UNKNOWN)) await repeat(job);
    }
    await sleep(pauseMs * 2 * random.next());
  }
}

async function repeat(job: PlannedJob): Promise<void> {
  do await sleep(REPEAT_PAUSE_MS);
  while (isProducing && !(await enqueue(job)));
}

function tell(message: FromChaosProcess): void {
  process.send?.(message);
}

const lanes = Promise.all([watchBacklog(), ...Array.from({ length: LANES }, runLane)]);
process.on('message', (message: ToChaosProcess) => {
  if (message.kind === 'enqueue') void enqueueTasks(message.jobs, message.task);
  if (message.kind !== 'stop_producing') return;
  isProducing = false;
  void lanes.then(() => tell({ kind: 'produced', jobs: produced }));
});
// Nothing ends the process but that nothing is left to do.
process.once('SIGTERM', () => {
  isProducing = false;
  void app.close();
});
process.channel?.unref();
// Nobody is left to end this process.
process.once('disconnect', () => process.exit(1));

tell({ kind: 'ready' });
