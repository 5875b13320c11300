/** A worker process of a chaos run: a Nest app like any other, which writes down every event it hears. */
import 'reflect-metadata';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobEvents, JobQueueModule, QueueHealthIndicator } from '@fenceline/nestjs';
import { HistoryWriter } from '../history/history-writer.js';
import { readOptions, type FromChaosProcess, type ToChaosProcess } from './protocol.js';
import { RowClient } from './row-client.js';
import { TaskHandlers } from './task-handlers.js';

const options = readOptions();
const history = new HistoryWriter(options.folder, options.name);
history.record({ kind: 'booted', role: 'worker', pid: process.pid });

@Module({
  imports: [
    JobQueueModule.forRoot({
      connection: { url: options.url },
      prefix: options.prefix,
      logging: false,
      ...options.module,
    }),
  ],
  providers: [
    TaskHandlers,
    { provide: HistoryWriter, useValue: history },
    { provide: RowClient, useFactory: () => new RowClient(options.rowStore) },
  ],
})
class ChaosWorkerModule {}

const app = await NestFactory.createApplicationContext(ChaosWorkerModule, { logger: ['fatal'] });
// Nothing ends the process but that nothing is left to do.
process.once('SIGTERM', () => void app.close());

const events = app.get(JobEvents);
const ATTEMPT_EVENTS = ['done', 'dead', 'lost', 'released', 'stale_refused', 'runaway'] as const;
for (const event of ATTEMPT_EVENTS) {
  events.on(event, ({ jobId, fencingToken: token, attempt }) =>
    history.record({ kind: 'event', event, jobId, token, attempt }),
  );
}
for (const event of ['retry_scheduled', 'snoozed'] as const) {
  events.on(event, ({ jobId, fencingToken: token, attempt, delayMs }) =>
    history.record({ kind: 'event', event, jobId, token, attempt, delayMs }),
  );
}
for (const event of ['blocked', 'replayed', 'cancelled'] as const) {
  events.on(event, ({ jobId }) => history.record({ kind: 'event', event, jobId }));
}
for (const event of ['store_unavailable', 'store_recovered'] as const) {
  events.on(event, () => history.record({ kind: 'event', event }));
}
events.on('store_lost_data', ({ lost }) => history.record({ kind: 'event', event: 'store_lost_data', lost }));
events.on('reaped', ({ jobId, fencingToken: token, attempt }) => {
  history.record({ kind: 'event', event: 'reaped', jobId, token, attempt });
  if (options.diesWhenReaping) process.kill(process.pid, 'SIGKILL');
});

function tell(message: FromChaosProcess): void {
  process.send?.(message);
}

process.on('message', (message: ToChaosProcess) => {
  if (message.kind === 'tell_health') void tellHealth();
});
// The channel to the parent must not keep a process alive that has nothing else to do.
process.channel?.unref();
// Nobody is left to end this process.
process.once('disconnect', () => process.exit(1));

async function tellHealth(): Promise<void> {
  const { queue } = await app.get(QueueHealthIndicator).isHealthy('queue');
  const message: unknown = 'message' in queue ? queue.message : '';
  tell({ kind: 'health', status: queue.status, message: String(message) });
}

tell({ kind: 'ready' });
