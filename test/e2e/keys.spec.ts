/** Resource keys, dedup and idempotency as users see them. On both stores. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import {
  DuplicateJobError,
  IdempotencyConflictError,
  InvalidOptionError,
  JobHandler,
  KeyTakenError,
  type Job,
  type JobContext,
} from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { QUICK_QUEUE, startApp, STORES, type TestApp } from '../support/nest-app.js';

@Injectable()
class Handlers {
  readonly started: string[] = [];
  readonly payloads: unknown[] = [];
  running = 0;
  mostAtOnce = 0;
  private readonly gates: (() => void)[] = [];

  /** Lets the jobs that wait in `gated` go on. */
  open(): void {
    for (const go of this.gates.splice(0)) go();
  }

  @JobHandler('gated')
  async gated(payload: { fail?: boolean }, job: JobContext): Promise<{ by: string }> {
    this.started.push(job.id);
    this.payloads.push(payload);
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.running);
    await new Promise<void>((resolve) => this.gates.push(resolve));
    this.running--;
    if (payload.fail) throw new Error('as asked');
    return { by: job.id };
  }

  @JobHandler('quick')
  async quick(payload: { hot?: boolean }, job: JobContext): Promise<void> {
    this.started.push(job.id);
    if (!payload.hot) return;
    this.mostAtOnce = Math.max(this.mostAtOnce, ++this.running);
    await new Promise((resolve) => setImmediate(resolve));
    this.running--;
  }

  @JobHandler('fails', { maxAttempts: 1 })
  async fails(): Promise<void> {
    throw new Error('always');
  }
}

describe.each(STORES)('keys on %s', (store) => {
  let app: TestApp;
  let handlers: Handlers;

  beforeEach(async () => {
    app = await startApp({
      store,
      providers: [Handlers],
      options: { queues: [{ ...QUICK_QUEUE, concurrency: 50 }] },
    });
    handlers = app.context.get(Handlers);
  });
  afterEach(async () => {
    handlers.open();
    await app.close();
  });

  const inStatus = (jobId: string, status: Job['status']): Promise<Job> =>
    eventually(
      async () => {
        const job = await app.inspector.get(jobId);
        return job.status === status && job;
      },
      { what: `${jobId} is ${status}` },
    );
  /** Opens the gate until the job is where it should be. */
  const openUntil = (jobId: string, status: Job['status']): Promise<Job> =>
    eventually(async () => {
      handlers.open();
      const job = await app.inspector.get(jobId);
      return job.status === status && job;
    });

  describe('resource keys', () => {
    it('runs jobs of one resource one at a time and in order, and lets others pass', async () => {
      const options = { resourceKey: 'user:42' };
      const first = await app.queue.enqueue('gated', {}, options);
      await inStatus(first.jobId, 'processing');
      const second = await app.queue.enqueue('gated', {}, options);
      const third = await app.queue.enqueue('gated', {}, options);
      const other = await app.queue.enqueue('quick', {}, { resourceKey: 'user:43' });

      expect(await inStatus(second.jobId, 'blocked')).toMatchObject({
        attempt: 0,
        blockedOn: 'resource:user:42',
      });
      await inStatus(third.jobId, 'blocked');
      await inStatus(other.jobId, 'done');
      await openUntil(third.jobId, 'done');
      expect(handlers.started.filter((id) => id !== other.jobId)).toEqual([
        first.jobId,
        second.jobId,
        third.jobId,
      ]);
      expect(handlers.mostAtOnce).toBe(1);
      expect(await app.inspector.get(second.jobId)).toMatchObject({ attempt: 1, resourceKey: 'user:42' });
    });

    it('keeps a hot key in order beside many free jobs', async () => {
      const hot = Array.from({ length: 1_000 }, (_, i) => ({
        job: 'quick',
        payload: { hot: true },
        options: { jobId: `hot-${i}`, resourceKey: 'hot' },
      }));
      const free = Array.from({ length: 10_000 }, (_, i) => ({
        job: 'quick',
        payload: {},
        options: { jobId: `free-${i}` },
      }));
      const results = await app.queue.enqueueMany([...hot, ...free]);
      expect(results.every(({ ok }) => ok)).toBe(true);
      await eventually(() => handlers.started.length === 11_000, { timeoutMs: 20_000 });
      expect(handlers.mostAtOnce).toBe(1);
      const order = handlers.started.filter((id) => id.startsWith('hot'));
      expect(order).toEqual(hot.map(({ options }) => options.jobId));
    });
  });

  describe('dedup', () => {
    it('answers with the owner until it has ended', async () => {
      const dedup = { key: 'email:1' };
      const first = await app.queue.enqueue('gated', { n: 1 }, { dedup });
      expect(await app.queue.enqueue('gated', { n: 2 }, { dedup })).toMatchObject({
        jobId: first.jobId,
        duplicate: true,
      });
      await openUntil(first.jobId, 'done');
      expect(await app.queue.enqueue('gated', { n: 3 }, { dedup })).toMatchObject({ duplicate: false });
    });

    it('refuses when asked to', async () => {
      const dedup = { key: 'k', onDuplicate: 'reject' } as const;
      const { jobId } = await app.queue.enqueue('gated', {}, { dedup });
      const again = app.queue.enqueue('gated', {}, { dedup });
      await expect(again).rejects.toThrow(DuplicateJobError);
      await expect(again).rejects.toMatchObject({ ownerJobId: jobId });
    });

    it('throttles by time alone', async () => {
      const dedup = { key: 'k', windowMs: 60_000 };
      const { jobId } = await app.queue.enqueue('quick', {}, { dedup });
      await inStatus(jobId, 'done');
      expect(await app.queue.enqueue('quick', {}, { dedup })).toMatchObject({ jobId, duplicate: true });
    });

    it('replaces the payload of a job that waits', async () => {
      const dedup = { key: 'k', onDuplicate: 'replace' } as const;
      const { jobId } = await app.queue.enqueue('gated', { n: 1 }, { dedup, delayMs: 60_000 });
      const reply = await app.queue.enqueue('gated', { n: 2 }, { dedup });
      expect(reply).toMatchObject({ jobId, duplicate: true, replaced: true, status: 'queued' });
      await openUntil(jobId, 'done');
      expect(handlers.payloads).toEqual([{ n: 2 }]);
    });

    it('replaces the payload and no other option', async () => {
      const dedup = { key: 'k', onDuplicate: 'replace' } as const;
      const first = { dedup, delayMs: 60_000, resourceKey: 'one', maxAttempts: 7 };
      const { jobId } = await app.queue.enqueue('gated', { n: '"payload":' }, first);
      await app.queue.enqueue(
        'gated',
        { n: 2 },
        { dedup, delayMs: 60_000, resourceKey: 'two', maxAttempts: 2 },
      );
      const job = await app.inspector.get(jobId);
      expect(job).toMatchObject({ payload: { n: 2 }, maxAttempts: 7, resourceKey: 'one' });
    });

    it('debounces: the newest payload, once, after the last call', async () => {
      const dedup = { key: 'k', debounceMs: 60 };
      const { jobId } = await app.queue.enqueue('quick', { n: 1 }, { dedup });
      for (let n = 2; n <= 5; n++) await app.queue.enqueue('quick', { n }, { dedup });
      const job = await inStatus(jobId, 'done');
      expect(job.payload).toEqual({ n: 5 });
      expect(handlers.started).toEqual([jobId]);
    });

    it('keeps one follow-up with the newest payload while the owner runs', async () => {
      const dedup = { key: 'k', onDuplicate: 'rerun' } as const;
      const owner = await app.queue.enqueue('gated', { n: 1 }, { dedup });
      await inStatus(owner.jobId, 'processing');
      const followUp = await app.queue.enqueue('gated', { n: 2 }, { dedup });
      expect(followUp).toMatchObject({ status: 'blocked', duplicate: false });
      expect(await app.queue.enqueue('gated', { n: 3 }, { dedup })).toMatchObject({
        jobId: followUp.jobId,
        duplicate: true,
        replaced: true,
      });
      await openUntil(followUp.jobId, 'done');
      expect(handlers.payloads).toEqual([{ n: 1 }, { n: 3 }]);
    });

    it('refuses to redrive a job whose key a newer one owns', async () => {
      const dedup = { key: 'k' };
      const { jobId } = await app.queue.enqueue('fails', {}, { dedup });
      await inStatus(jobId, 'dead');
      const newer = await app.queue.enqueue('gated', {}, { dedup });
      await expect(app.admin.redrive(jobId)).rejects.toThrow(KeyTakenError);
      // Removing the old one frees nothing of the newer.
      await app.admin.remove(jobId);
      expect(await app.queue.enqueue('gated', {}, { dedup })).toMatchObject({ jobId: newer.jobId });
    });

    it.each([
      [{ key: '' }, 'dedup.key'],
      [{ key: 'k', windowMs: 0 }, 'dedup.windowMs'],
      [{ key: 'k', debounceMs: 10, windowMs: 10 }, 'dedup.debounceMs'],
      [{ key: 'k', windowMs: 10, onDuplicate: 'rerun' as const }, 'dedup.windowMs'],
    ])('refuses %j', async (dedup, field) => {
      const attempt = app.queue.enqueue('quick', {}, { dedup });
      await expect(attempt).rejects.toThrow(InvalidOptionError);
      await expect(attempt).rejects.toMatchObject({ field });
    });
  });

  describe('idempotency', () => {
    it('gives a later job the result of the first instead of running it', async () => {
      const options = { idempotencyKey: 'pay:1' };
      const first = await app.queue.enqueue('gated', {}, options);
      await inStatus(first.jobId, 'processing');
      const second = await app.queue.enqueue('gated', {}, options);
      const third = await app.queue.enqueue('gated', {}, options);
      await inStatus(second.jobId, 'blocked');
      await openUntil(first.jobId, 'done');
      for (const { jobId } of [second, third]) {
        expect(await inStatus(jobId, 'done')).toMatchObject({ attempt: 0, result: { by: first.jobId } });
      }
      expect(handlers.started).toEqual([first.jobId]);
      expect((await app.inspector.snapshot()).lifetime.replayed).toBe(2);
    });

    it('lets the next one try when the first fails for good', async () => {
      const options = { idempotencyKey: 'pay:2', maxAttempts: 1 };
      const payload = { fail: true };
      const first = await app.queue.enqueue('gated', payload, options);
      await inStatus(first.jobId, 'processing');
      const second = await app.queue.enqueue('gated', payload, options);
      await inStatus(second.jobId, 'blocked');
      await openUntil(second.jobId, 'dead');
      expect(handlers.started).toEqual([first.jobId, second.jobId]);
    });

    it('refuses the key with another payload', async () => {
      await app.queue.enqueue('gated', { amount: 1 }, { idempotencyKey: 'pay:3' });
      await expect(app.queue.enqueue('gated', { amount: 2 }, { idempotencyKey: 'pay:3' })).rejects.toThrow(
        IdempotencyConflictError,
      );
    });
  });
});
