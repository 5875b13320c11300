/** A process of its own that runs jobs as its parent tells it, and reports what happens to them. */
import 'reflect-metadata';
import { existsSync } from 'node:fs';
import { Injectable, Module, ShutdownSignal } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  FencelineError,
  JobEvents,
  JobHandler,
  JobQueueModule,
  QueueService,
  type JobContext,
} from '@fenceline/nestjs';
import {
  OPTIONS_VARIABLE,
  type BlockPayload,
  type FromWorker,
  type HoldPayload,
  type ToWorker,
  type WorkerProcessOptions,
} from './worker-protocol.js';

const options = JSON.parse(process.env[OPTIONS_VARIABLE] ?? '{}') as WorkerProcessOptions;
const REPORTED_EVENTS = [
  'acquired',
  'lost',
  'done',
  'dead',
  'retry_scheduled',
  'released',
  'stale_refused',
  'runaway',
  'reaped',
] as const;

/** Resolves when the message is on its way, so that the process may be killed then. */
function report(message: FromWorker): Promise<void> {
  return new Promise((resolve) => {
    if (process.send) process.send(message, undefined, undefined, () => resolve());
    else resolve();
  });
}

const finishers = new Map<string, () => void>();

@Injectable()
class Handlers {
  /** Runs until the parent says `finish`. */
  @JobHandler('hold')
  async hold({ onAbort = 'throw' }: HoldPayload, job: JobContext): Promise<{ by: number }> {
    const told = new Promise<void>((resolve) => finishers.set(job.id, resolve));
    const aborted = this.watch(job);
    await this.reportStart(job);
    if (options.crashes) process.kill(process.pid, 'SIGKILL');
    await (onAbort === 'ignore' ? told : Promise.race([told, aborted]));
    if (onAbort === 'throw') job.signal.throwIfAborted();
    return { by: process.pid };
  }

  @JobHandler('quick')
  async quick(_payload: unknown, job: JobContext): Promise<{ by: number }> {
    await this.reportStart(job);
    return { by: process.pid };
  }

  /** Its first run lets nothing else run in this process: no timer, no heartbeat, no reply. */
  @JobHandler('block')
  async block({ untilFile, atLeastMs }: BlockPayload, job: JobContext): Promise<{ by: number }> {
    void this.watch(job);
    await this.reportStart(job);
    const until = performance.now() + atLeastMs;
    const never = new Int32Array(new SharedArrayBuffer(4));
    while (job.attempt === 1 && (performance.now() < until || !existsSync(untilFile))) {
      Atomics.wait(never, 0, 0, 10);
    }
    return { by: process.pid };
  }

  private watch(job: JobContext): Promise<void> {
    return new Promise((resolve) => {
      job.signal.addEventListener('abort', () => {
        const { reason } = job.signal as { reason: unknown };
        const code = reason instanceof FencelineError ? reason.code : String(reason);
        void report({ kind: 'aborted', jobId: job.id, code });
        resolve();
      });
    });
  }

  private reportStart({ id, attempt, fencingToken }: JobContext): Promise<void> {
    return report({ kind: 'started', jobId: id, attempt, token: fencingToken, wallClock: Date.now() });
  }
}

@Module({
  imports: [
    JobQueueModule.forRoot({
      connection: { url: options.url },
      prefix: options.prefix,
      logging: false,
      ...options.module,
    }),
  ],
  providers: [Handlers],
})
class WorkerProcessModule {}

// Before Nest's own listener: by the time the parent hears this, the worker claims no more.
process.on('SIGTERM', () => void report({ kind: 'stopping' }));
const app = await NestFactory.createApplicationContext(WorkerProcessModule, { logger: ['error', 'fatal'] });
app.enableShutdownHooks([ShutdownSignal.SIGTERM], { useProcessExit: true });

const events = app.get(JobEvents);
for (const event of REPORTED_EVENTS) {
  events.on(event, ({ jobId }) => void report({ kind: 'event', event, jobId }));
}

const queue = app.get(QueueService);
process.on('message', (message: ToWorker) => {
  if (message.kind === 'finish') finishers.get(message.jobId)?.();
  else void enqueue(message.request);
});

async function enqueue({ type, payload, options: given }: Extract<ToWorker, { kind: 'enqueue' }>['request']) {
  void report({ kind: 'enqueued', reply: await queue.enqueue(type, payload, given) });
}

void report({ kind: 'ready' });
