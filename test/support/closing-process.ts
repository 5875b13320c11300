/**
 * A process that runs a job, closes its app and then has nothing more to do: it ends by itself if and only
 * if the library left no timer, socket or other handle open. Arguments: a Redis URL or `memory`, a prefix.
 */
import 'reflect-metadata';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueueModule, QueueInspector, QueueService } from '@fenceline/nestjs';
import { eventually } from './eventually.js';

const [, , url = 'memory', prefix = 'test'] = process.argv;

@Injectable()
class Handlers {
  @JobHandler('quick')
  quick(): string {
    return 'done';
  }
}

@Module({
  imports: [
    JobQueueModule.forRoot({
      connection: url === 'memory' ? 'memory' : { url },
      prefix,
      queues: [{ name: 'jobs' }, { name: 'without a handler' }],
      logging: false,
    }),
  ],
  providers: [Handlers],
})
class ClosingModule {}

const app = await NestFactory.createApplicationContext(ClosingModule, { logger: ['error'] });
const { jobId } = await app.get(QueueService).enqueue('quick', {});
await eventually(async () => (await app.get(QueueInspector).get(jobId)).status === 'done');
// Leaves timers for a due job and for a lease behind.
await app.get(QueueService).enqueue('quick', {}, { delayMs: 3_600_000 });
await app.close();
process.stdout.write('closed\n');
