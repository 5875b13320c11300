/** What must hold when the process itself is late: a reply after its lease, a timer after a blocked event loop. */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { JobHandler, type JobContext } from '@fenceline/nestjs';
import { QueueRegistry } from '#lib/queue/queue-registry.js';
import { eventually } from '../support/eventually.js';
import { QUICK_QUEUE, startApp, type TestApp } from '../support/nest-app.js';

@Injectable()
class Handlers {
  readonly attempts: number[] = [];
  /** What a handler saw of its signal. */
  readonly signals: boolean[] = [];

  @JobHandler('noted')
  async noted(_payload: unknown, job: JobContext): Promise<void> {
    this.attempts.push(job.attempt);
  }

  @JobHandler('blocks')
  blocks({ ms }: { ms: number }, job: JobContext): void {
    this.signals.push(job.signal.aborted);
    blockEventLoop(ms);
    this.signals.push(job.signal.aborted);
  }

  @JobHandler('never_returns')
  neverReturns(_payload: unknown, job: JobContext): Promise<void> {
    this.attempts.push(job.attempt);
    return new Promise(() => {});
  }
}

function blockEventLoop(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end;);
}

describe('a late process', () => {
  let app: TestApp;
  afterEach(async () => {
    jest.restoreAllMocks();
    await app.close();
  });

  it('does not start a job whose lease ended before the claim was answered', async () => {
    const leaseMs = 300;
    app = await startApp({ providers: [Handlers], options: { queues: [{ ...QUICK_QUEUE, leaseMs }] } });
    const handlers = app.context.get(Handlers);
    const { store } = app.context.get(QueueRegistry).defaultQueue;
    const exchange = store.exchange.bind(store);
    let lateReplies = 0;
    jest.spyOn(store, 'exchange').mockImplementation(async (call) => {
      const sentAt = performance.now();
      const reply = await exchange(call);
      if (reply.claimed.length > 0 && lateReplies++ === 0) {
        await eventually(() => performance.now() > sentAt + leaseMs);
      }
      return reply;
    });
    const { jobId } = await app.queue.enqueue('noted', {});
    await eventually(async () => (await app.inspector.get(jobId)).status === 'done');
    // Nobody had taken it back yet, so it was given back, and that attempt does not count.
    expect(handlers.attempts).toEqual([1]);
    expect((await app.inspector.snapshot()).lifetime.released).toBe(1);
  });

  it('shows a handler that its lease is over before any timer can', async () => {
    const leaseMs = 300;
    app = await startApp({ providers: [Handlers], options: { queues: [{ ...QUICK_QUEUE, leaseMs }] } });
    const handlers = app.context.get(Handlers);
    await app.queue.enqueue('blocks', { ms: leaseMs }, { maxAttempts: 1 });
    await eventually(() => handlers.signals.length === 2);
    expect(handlers.signals).toEqual([false, true]);
  });

  it('does not start a job whose lease ended while the handler of another one blocked the event loop', async () => {
    const leaseMs = 300;
    app = await startApp({ providers: [Handlers], options: { queues: [{ ...QUICK_QUEUE, leaseMs }] } });
    const handlers = app.context.get(Handlers);
    // Claimed together, so that the second one waits for the first one's handler.
    await app.admin.pause();
    await app.queue.enqueue('blocks', { ms: leaseMs }, { maxAttempts: 1 });
    const { jobId } = await app.queue.enqueue('noted', {});
    await app.admin.resume();
    await eventually(() => handlers.signals.length === 2);
    const { store } = app.context.get(QueueRegistry).defaultQueue;
    await eventually(async () => {
      await store.reap(leaseMs, 10);
      return (await app.inspector.get(jobId)).status === 'done';
    });
    expect(handlers.attempts).toEqual([2]);
  });

  it('stops although its event loop stood still for longer than the shutdown may take', async () => {
    const queue = { ...QUICK_QUEUE, abortGraceMs: 50 };
    app = await startApp({
      providers: [Handlers],
      options: { queues: [queue], shutdownTimeoutMs: 200 },
    });
    const handlers = app.context.get(Handlers);
    await app.queue.enqueue('never_returns', {});
    await eventually(() => handlers.attempts.length === 1);
    const startedAt = performance.now();
    const closing = app.context.close();
    blockEventLoop(500);
    await closing;
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });
});
