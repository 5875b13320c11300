/**
 * A process of its own that logs at every level and does everything that could make it log what is secret: the
 * words of `SECRETS` stand in payloads, results, checkpoints and the password of its Redis, and nowhere else.
 */
import 'reflect-metadata';
import { Controller, Get, Injectable, Module, type LogLevel } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  IdempotencyService,
  JobHandler,
  JobQueueModule,
  PermanentError,
  QueueInspector,
  QueueService,
  defineJob,
  type ConnectionOptions,
  type JobContext,
} from '@fenceline/nestjs';
import { Transform } from 'class-transformer';
import { MaxLength } from 'class-validator';
import { Redis } from 'ioredis';
import { eventually } from './eventually.js';
import { LOUD_VARIABLE, SECRETS, type LoudOptions } from './loud-protocol.js';

const { url, logging } = JSON.parse(process.env[LOUD_VARIABLE] ?? '{}') as LoudOptions;

/** Of Nest's own logger. */
const EVERY_LEVEL: LogLevel[] = ['verbose', 'debug', 'log', 'warn', 'error', 'fatal'];

class StrictPayload {
  @MaxLength(3, { message: '"$value" is too long' })
  word!: string;
}
const Strict = defineJob('strict', StrictPayload);

class PlainPayload {
  @MaxLength(3)
  word!: string;
}
const Plain = defineJob('plain', PlainPayload);

class TransformedPayload {
  @Transform(({ value }) => JSON.parse(String(value)) as unknown)
  json!: unknown;
}

@Injectable()
class Handlers {
  @JobHandler('succeed')
  async succeed(_payload: unknown, job: JobContext): Promise<unknown> {
    await job.checkpoint.set({ secret: SECRETS.checkpoint });
    return { secret: SECRETS.result };
  }

  @JobHandler('retry', { backoff: { baseDelayMs: 1, maxDelayMs: 1 } })
  async retry(_payload: unknown, job: JobContext): Promise<void> {
    if (job.attempt === 1) throw new Error('the mail server is away');
  }

  @JobHandler('die')
  async die(): Promise<void> {
    throw new PermanentError('no such customer');
  }

  @JobHandler('too_much')
  tooMuch(): unknown {
    return SECRETS.result.repeat(100);
  }

  @JobHandler('resume', { maxAttempts: 1 })
  resume(_payload: unknown, job: JobContext): Promise<unknown> {
    return job.checkpoint.get();
  }

  @JobHandler(Strict)
  async strict(): Promise<void> {}

  @JobHandler('transformed', { payload: TransformedPayload })
  async transformed(): Promise<void> {}
}

/** Has no exception filter: what is thrown here is logged by Nest, whole. */
@Controller()
class EnqueueController {
  constructor(private readonly queue: QueueService) {}

  @Get('enqueue')
  enqueue(): Promise<unknown> {
    return this.queue.enqueue('succeed', PAYLOAD);
  }

  @Get('enqueue-invalid')
  enqueueInvalid(): Promise<unknown> {
    return this.queue.enqueue(Plain, { word: SECRETS.payload });
  }
}

const PAYLOAD = { secret: SECRETS.payload };

/** A process without handlers, and so without their classes: what it enqueues is not validated. */
async function enqueueUnseen(payloads: Readonly<Record<string, object>>): Promise<void> {
  @Module({ imports: [JobQueueModule.forRoot({ connection: { url }, worker: false, logging: false })] })
  class ProducerModule {}
  const app = await NestFactory.createApplicationContext(ProducerModule, { logger: EVERY_LEVEL });
  for (const [type, payload] of Object.entries(payloads)) {
    await app.get(QueueService).enqueue(type, payload, { jobId: type });
  }
  await app.close();
}

async function start(connection: ConnectionOptions, worker: boolean) {
  @Module({
    imports: [
      JobQueueModule.forRoot({
        connection,
        logging,
        worker,
        queues: [{ name: 'jobs', resultLimitBytes: 500 }],
        commandTimeoutMs: 300,
      }),
    ],
    controllers: [EnqueueController],
    providers: [Handlers],
  })
  class LoudModule {}

  const app = await NestFactory.create(LoudModule, { logger: EVERY_LEVEL });
  await app.listen(0, '127.0.0.1');
  const get = async (path: string): Promise<number> => (await fetch(`${await app.getUrl()}/${path}`)).status;
  return { app, get };
}

async function runJobs(redis: Redis): Promise<void> {
  const { app, get } = await start({ url }, true);
  const queue = app.get(QueueService);
  const inspector = app.get(QueueInspector);

  // As somebody writes it by hand, or as a disk leaves it.
  await redis.set('fl:{jobs}:job:damaged', `{"type":"succeed","payload":"${SECRETS.payload}`);
  await redis.rpush('fl:{jobs}:queued:5', 'damaged');
  for (const type of ['succeed', 'retry', 'die', 'too_much']) {
    await queue.enqueue(type, PAYLOAD, { jobId: type });
  }
  await enqueueUnseen({ strict: { word: SECRETS.payload }, transformed: { json: SECRETS.payload } });
  await queue.enqueue('resume', PAYLOAD, { jobId: 'resume', delayMs: 50 });
  await redis.set('fl:{jobs}:checkpoint:resume', `{${SECRETS.checkpoint}`);
  await eventually(async () => {
    const { counts } = await inspector.snapshot();
    return counts.done === 2 && counts.dead === 6;
  });

  const idempotency = app.get(IdempotencyService);
  const run = (key: string, result: unknown) =>
    idempotency.run(key, { resultLimitBytes: 10 }, () => result).catch(() => {});
  await run('too-much', { secret: SECRETS.result });

  await get('enqueue-invalid');
  await redis.config('SET', 'maxmemory', '1');
  await get('enqueue');
  await redis.config('SET', 'maxmemory', '0');
  await app.close();
}

/** Users who may not: one whose password is wrong, one who lacks rights. */
async function runForbidden(redis: Redis): Promise<void> {
  const { hostname: host, port } = new URL(url);
  await redis.call('ACL', 'SETUSER', 'poor', 'reset', 'on', `>${SECRETS.password}`, '~*', '+ping', '+info');
  const users = [
    { username: 'poor', password: SECRETS.password },
    { username: 'poor', password: `not-${SECRETS.password}` },
  ];
  for (const user of users) {
    const { app, get } = await start({ redis: { host, port: Number(port), ...user } }, false);
    await get('enqueue');
    await app.close();
  }
}

const redis = new Redis(url);
await runJobs(redis);
await runForbidden(redis);
redis.disconnect();
