/** Rolling deploys: a worker meets a job whose type only other workers know. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { JobHandler, type JobContext } from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { QUICK_QUEUE, startApp, type TestApp } from '../support/nest-app.js';

@Injectable()
class NewHandlers {
  @JobHandler('new_type', { maxAttempts: 10, backoff: { baseDelayMs: 200, maxDelayMs: 200, jitter: 'none' } })
  async run(_payload: unknown, job: JobContext): Promise<void> {
    throw new Error(`attempt ${job.attempt}`);
  }
}

@Injectable()
class OldHandlers {
  @JobHandler('old_type')
  async run(): Promise<void> {}
}

describe('a worker that does not know a type', () => {
  const apps: TestApp[] = [];
  afterEach(async () => {
    await Promise.all(apps.splice(0).map((app) => app.close()));
  });

  it('puts the job back whatever its own limit is: the handler may allow more attempts', async () => {
    const options = { queues: [{ ...QUICK_QUEUE, maxAttempts: 1 }] };
    const newer = await startApp({ providers: [NewHandlers], options });
    apps.push(newer);
    const { jobId } = await newer.queue.enqueue('new_type', {});
    await eventually(async () => (await newer.inspector.get(jobId)).status === 'retrying');
    await newer.context.close();

    const older = await startApp({ providers: [OldHandlers], options: { ...options, prefix: newer.prefix } });
    apps.push(older);
    const job = await eventually(async () => {
      const seen = await older.inspector.get(jobId);
      return seen.status === 'scheduled' && seen;
    });
    expect(job).toMatchObject({ attempt: 1, lastError: { code: 'UNKNOWN_JOB_TYPE' } });
  });
});
