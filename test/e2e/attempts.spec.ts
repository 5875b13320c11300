/** What happens to a job when its handler returns, fails, hangs, or is not there. On both stores. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { IsEmail, IsInt } from 'class-validator';
import {
  defineJob,
  JobHandler,
  PayloadTooLargeError,
  PayloadValidationError,
  PermanentError,
  RetryAfterError,
  type Job,
  type JobContext,
} from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { QUICK_QUEUE, startApp, STORES, type TestApp } from '../support/nest-app.js';

class Greeting {
  @IsEmail() email!: string;
  @IsInt() times!: number;
}
const Greet = defineJob('greet', Greeting);

@Injectable()
class Handlers {
  readonly seen: { type: string; attempt: number; payload: unknown; at: number }[] = [];
  readonly aborts: unknown[] = [];

  note(job: JobContext, payload: unknown): void {
    this.seen.push({ type: job.type, attempt: job.attempt, payload, at: performance.now() });
  }

  @JobHandler(Greet)
  async greet(payload: Greeting, job: JobContext): Promise<{ greeted: string; isInstance: boolean }> {
    this.note(job, payload);
    return { greeted: payload.email, isInstance: payload instanceof Greeting };
  }

  @JobHandler('always_fails', {
    maxAttempts: 4,
    backoff: { jitter: 'none', baseDelayMs: 20, maxDelayMs: 1_000 },
  })
  async alwaysFails(payload: unknown, job: JobContext): Promise<void> {
    this.note(job, payload);
    throw new Error('it never works', { cause: new Error('because of the moon') });
  }

  @JobHandler('permanent')
  async permanent(payload: unknown, job: JobContext): Promise<void> {
    this.note(job, payload);
    throw new PermanentError('there is no such user');
  }

  @JobHandler('classified', { isPermanent: (error) => error instanceof TypeError })
  async classified(): Promise<void> {
    throw new TypeError('not a number');
  }

  @JobHandler('fails_once')
  async failsOnce(payload: unknown, job: JobContext): Promise<string> {
    this.note(job, payload);
    if (job.attempt === 1) throw new RetryAfterError(30);
    return 'at last';
  }

  @JobHandler('hangs', { timeoutMs: 40, maxAttempts: 1 })
  async hangs(_payload: unknown, job: JobContext): Promise<void> {
    await new Promise((_, reject) => {
      job.signal.addEventListener('abort', () => {
        this.aborts.push(job.signal.reason);
        reject(new Error('stopped'));
      });
    });
  }

  @JobHandler('never_returns', { timeoutMs: 20, maxAttempts: 1 })
  neverReturns(): Promise<void> {
    return new Promise(() => {});
  }

  @JobHandler('steps')
  async steps(_payload: unknown, job: JobContext): Promise<unknown> {
    const before = await job.checkpoint.get<{ step: number }>();
    await job.checkpoint.set({ step: job.attempt });
    if (job.attempt < 3) throw new Error('not yet');
    return { resumedFrom: before };
  }

  @JobHandler('bad_checkpoint', { maxAttempts: 1 })
  async badCheckpoint(payload: { large?: boolean }, job: JobContext): Promise<void> {
    await job.checkpoint.set(payload.large ? 'x'.repeat(2_000) : () => 1);
  }

  @JobHandler('enqueues_badly', { maxAttempts: 2 })
  async enqueuesBadly(): Promise<void> {
    throw new PayloadValidationError('another_job', [{ path: 'email', messages: ['is missing'] }]);
  }

  @JobHandler('large_result')
  largeResult(): string {
    return 'x'.repeat(2_000);
  }
}

describe.each(STORES)('attempts on %s', (store) => {
  let app: TestApp;
  let handlers: Handlers;

  beforeEach(async () => {
    const queue = { ...QUICK_QUEUE, abortGraceMs: 50, payloadLimitBytes: 1_000, resultLimitBytes: 1_000 };
    app = await startApp({ store, providers: [Handlers], options: { queues: [queue] } });
    handlers = app.context.get(Handlers);
  });
  afterEach(() => app.close());

  const ended = (jobId: string): Promise<Job> =>
    eventually(async () => {
      const job = await app.inspector.get(jobId);
      return job.endedAt !== undefined && job;
    });

  it('hands the handler an instance of its class and stores its result', async () => {
    const reply = await app.queue.enqueue(Greet, { email: 'a@example.com', times: 1 });
    expect(reply).toEqual({ jobId: expect.any(String), status: 'queued', duplicate: false });
    expect(await ended(reply.jobId)).toMatchObject({
      status: 'done',
      attempt: 1,
      result: { greeted: 'a@example.com', isInstance: true },
      fencingToken: expect.any(Number),
      workerId: expect.any(String),
    });
  });

  it('refuses an invalid payload at enqueue and stores nothing', async () => {
    const attempt = app.queue.enqueue('greet', { email: 'nobody', times: 1.5 });
    await expect(attempt).rejects.toThrow(PayloadValidationError);
    await expect(attempt).rejects.toThrow(/email must be an email.*times must be an integer/);
    expect((await app.inspector.snapshot()).counts.queued).toBe(0);
  });

  it('refuses a payload over the limit', async () => {
    await expect(app.queue.enqueue('always_fails', { text: 'x'.repeat(2_000) })).rejects.toThrow(
      PayloadTooLargeError,
    );
  });

  it('retries with growing delays, then buries; redrive starts over and keeps the history', async () => {
    const { jobId } = await app.queue.enqueue('always_fails', {});
    const dead = await ended(jobId);
    expect(dead).toMatchObject({
      status: 'dead',
      deadReason: 'attempts_exhausted',
      attempt: 4,
      maxAttempts: 4,
    });
    expect(dead.lastError).toMatchObject({
      message: 'it never works',
      cause: { message: 'because of the moon' },
    });
    const gaps = handlers.seen.slice(1).map(({ at }, i) => at - (handlers.seen[i]?.at ?? 0));
    [20, 40, 80].forEach((delayMs, i) => expect(gaps[i]).toBeGreaterThanOrEqual(delayMs - 1));

    await app.admin.redrive(jobId);
    await eventually(() => handlers.seen.length === 8);
    expect(await ended(jobId)).toMatchObject({
      status: 'dead',
      attempt: 4,
      redriveCount: 1,
      attemptsBeforeRedrive: 4,
    });
  });

  it('buries a permanent error at once', async () => {
    const { jobId } = await app.queue.enqueue('permanent', {});
    expect(await ended(jobId)).toMatchObject({ status: 'dead', attempt: 1, deadReason: 'permanent_error' });
    const other = await app.queue.enqueue('classified', {});
    expect(await ended(other.jobId)).toMatchObject({
      status: 'dead',
      attempt: 1,
      deadReason: 'permanent_error',
    });
  });

  it('lets an error choose its own delay', async () => {
    const { jobId } = await app.queue.enqueue('fails_once', {});
    expect(await ended(jobId)).toMatchObject({ status: 'done', attempt: 2, result: 'at last' });
    const [first, second] = handlers.seen;
    expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(29);
  });

  it('aborts an attempt that runs too long', async () => {
    const { jobId } = await app.queue.enqueue('hangs', {});
    expect(await ended(jobId)).toMatchObject({ status: 'dead', lastError: { code: 'JOB_TIMEOUT' } });
    expect(handlers.aborts).toEqual([expect.objectContaining({ code: 'JOB_TIMEOUT' })]);
  });

  it('settles without a handler that ignores its signal, and counts it', async () => {
    const { jobId } = await app.queue.enqueue('never_returns', {});
    expect(await ended(jobId)).toMatchObject({ status: 'dead', lastError: { code: 'JOB_TIMEOUT' } });
    await eventually(async () => (await app.inspector.snapshot()).lifetime.runaways === 1);
  });

  it('resumes from the checkpoint of an earlier attempt', async () => {
    const { jobId } = await app.queue.enqueue('steps', {});
    expect(await ended(jobId)).toMatchObject({
      status: 'done',
      attempt: 3,
      result: { resumedFrom: { step: 2 } },
    });
  });

  it('buries a job whose result cannot be stored', async () => {
    const { jobId } = await app.queue.enqueue('large_result', {});
    expect(await ended(jobId)).toMatchObject({ status: 'dead', attempt: 1, deadReason: 'result_unstorable' });
  });

  it.each([{}, { large: true }])('refuses a checkpoint that cannot be stored (%j)', async (payload) => {
    const { jobId } = await app.queue.enqueue('bad_checkpoint', payload);
    expect(await ended(jobId)).toMatchObject({
      status: 'dead',
      lastError: { code: 'CHECKPOINT_UNSTORABLE' },
    });
  });

  it("does not take a handler's own validation error for its payload's", async () => {
    const { jobId } = await app.queue.enqueue('enqueues_badly', {});
    expect(await ended(jobId)).toMatchObject({ attempt: 2, deadReason: 'attempts_exhausted' });
  });

  it('puts a job of an unknown type back without counting the attempt', async () => {
    const { jobId } = await app.queue.enqueue('of_the_future', {});
    const job = await eventually(async () => {
      const seen = await app.inspector.get(jobId);
      return seen.status === 'scheduled' && seen;
    });
    expect(job).toMatchObject({ attempt: 0, lastError: { code: 'UNKNOWN_JOB_TYPE' } });
  });

  it('starts a delayed job on time, woken by no cron', async () => {
    await app.queue.enqueue('permanent', {}); // the worker is up once this was seen
    await eventually(() => handlers.seen.length === 1);
    const lateness: number[] = [];
    for (let i = 0; i < 10; i++) {
      const at = performance.now();
      await app.queue.enqueue('permanent', {}, { delayMs: 50 });
      await eventually(() => handlers.seen.length === i + 2);
      lateness.push((handlers.seen[i + 1]?.at ?? Infinity) - at - 50);
    }
    // One slow turn of a shared machine must not fail it; a cron tick would be ten times later than this.
    lateness.sort((a, b) => a - b);
    expect(lateness[0]).toBeGreaterThanOrEqual(-1);
    expect(lateness[5]).toBeLessThanOrEqual(100);
  });
});
