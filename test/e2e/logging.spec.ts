/** What an app logs of a job's life: one structured line per transition, and never a payload. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Logger, Module, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueueModule, QueueService } from '@fenceline/nestjs';
import { untilIdle } from '@fenceline/nestjs/testing';

@Injectable()
class Handlers {
  @JobHandler('sends')
  async sends(): Promise<void> {}

  @JobHandler('fails', { maxAttempts: 1 })
  async fails(): Promise<void> {
    throw new Error('first line\nsecond line', { cause: new Error('deeper') });
  }
}

class Recorder implements LoggerService {
  readonly lines: string[] = [];
  log = (message: unknown): void => this.note('log', message);
  warn = (message: unknown): void => this.note('warn', message);
  error = (message: unknown): void => this.note('error', message);
  debug = (message: unknown): void => this.note('debug', message);

  private note(level: string, message: unknown): void {
    if (typeof message === 'string' && message.startsWith('event=')) this.lines.push(`${level} ${message}`);
  }
}

@Module({
  imports: [JobQueueModule.forRoot({ connection: 'memory', queues: [{ name: 'jobs' }] })],
  providers: [Handlers],
})
class AppModule {}

describe('the log', () => {
  afterEach(() => Logger.overrideLogger(false));

  it('has one line per transition, with the fields that tell one attempt from another', async () => {
    const logger = new Recorder();
    const app = await NestFactory.createApplicationContext(AppModule, { logger });
    await app.get(QueueService).enqueue('sends', { secret: 'hunter2' }, { jobId: 'one' });
    await app.get(QueueService).enqueue('fails', {}, { jobId: 'two' });
    await untilIdle(app);
    await app.close();

    const eventsOf = (jobId: string): string[] =>
      logger.lines
        .filter((line) => line.includes(`job_id=${jobId} `))
        .map((line) => line.split(' ', 2).join(' '));
    expect(eventsOf('one')).toEqual(['debug event=enqueued', 'debug event=acquired', 'log event=done']);
    expect(eventsOf('two')).toEqual(['debug event=enqueued', 'debug event=acquired', 'error event=dead']);
    const [dead] = logger.lines.filter((line) => line.includes('event=dead'));
    expect(dead).toMatch(
      /job_type=fails attempt=1 worker_id=\S+ lease_owner=\S+ fencing_token=\d+ duration_ms=\d+/,
    );
    expect(dead).toMatch(
      /reason=attempts_exhausted error="Error: first line.*second line" error_cause="Error: deeper"$/,
    );
    expect(logger.lines.join('\n')).not.toContain('hunter2');
  });
});
