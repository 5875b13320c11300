/** This library, through its public Nest API and with every default on: leases, fencing, events, results. */
import 'reflect-metadata';
import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  JobHandler,
  JobQueueModule,
  QueueInspector,
  QueueService,
  type ConnectionOptions,
  type EnqueueOptions,
  type QueueOptions,
} from '@fenceline/nestjs';
import type { BenchPayload } from '../payload.js';
import type { BenchHandler, BenchWorker, Contender, ContenderSettings, JobOptions } from './contender.js';

const JOB_TYPE = 'send_email';

/** A producer app beside the worker's app, as in a deployment with an API and workers. */
export async function openFenceline(settings: ContenderSettings): Promise<Contender> {
  const connection = { url: settings.url };
  const queue = queueOptions(settings);
  const producer = await startApp(connection, queue);
  return {
    ...producing(producer),
    startWorker: (concurrency, handler) => startApp(connection, { ...queue, concurrency }, handler),
    close: () => producer.close(),
  };
}

/** The memory store lives inside one app, so that app produces and works; it starts with its worker. */
export async function openFencelineInMemory(settings: ContenderSettings): Promise<Contender> {
  let handler: BenchHandler | undefined;
  const app = await startApp('memory', { ...queueOptions(settings), concurrency: 100 }, async (payload) => {
    if (!handler) throw new Error('Start the worker before you enqueue.');
    return handler(payload);
  });
  return {
    ...producing(app),
    startWorker: async (concurrency, given): Promise<BenchWorker> => {
      if (concurrency !== 100) throw new Error('The memory store is measured at concurrency 100 only.');
      handler = given;
      return { close: async () => undefined };
    },
    close: () => app.close(),
  };
}

function queueOptions({ keep, promptRetries }: ContenderSettings): QueueOptions {
  return {
    name: 'bench',
    ...(keep === 'nothing' && { retention: { done: { count: 0 } } }),
    ...(promptRetries && { backoff: { baseDelayMs: 1, maxDelayMs: 1 } }),
  };
}

function startApp(
  connection: ConnectionOptions,
  queue: QueueOptions,
  handler?: BenchHandler,
): Promise<INestApplicationContext> {
  @Injectable()
  class Handlers {
    @JobHandler(JOB_TYPE)
    send(payload: BenchPayload): Promise<void> {
      return handler ? handler(payload) : Promise.resolve();
    }
  }

  @Module({
    imports: [JobQueueModule.forRoot({ connection, queues: [queue], worker: handler !== undefined })],
    providers: [Handlers],
  })
  class BenchModule {}

  return NestFactory.createApplicationContext(BenchModule, {
    logger: ['error', 'warn'],
    abortOnError: false,
  });
}

function producing(app: INestApplicationContext): Pick<Contender, 'enqueue' | 'enqueueMany' | 'remaining'> {
  const queue = app.get(QueueService);
  const inspector = app.get(QueueInspector);
  return {
    enqueue: async (payload, options) => {
      await queue.enqueue(JOB_TYPE, payload, toEnqueueOptions(options));
    },
    enqueueMany: async (payloads, options) => {
      const given = toEnqueueOptions(options);
      const results = await queue.enqueueMany(
        payloads.map((payload) => ({ job: JOB_TYPE, payload, ...(given && { options: given }) })),
      );
      for (const result of results) if (!result.ok) throw result.error;
    },
    remaining: async () => {
      const { counts } = await inspector.snapshot();
      return Object.values(counts).reduce((sum, count) => sum + count, 0) - counts.done;
    },
  };
}

function toEnqueueOptions(options: JobOptions | undefined): EnqueueOptions | undefined {
  if (!options) return undefined;
  const { delayMs, resourceKey } = options;
  return {
    ...(delayMs !== undefined && { delayMs }),
    ...(resourceKey !== undefined && { resourceKey }),
  };
}
