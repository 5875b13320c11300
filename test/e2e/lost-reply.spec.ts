/** Replies that never arrive although Redis did what it was asked: repeated calls must not do it twice. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EnqueueUnknownError } from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { QUICK_QUEUE, startApp, type TestApp } from '../support/nest-app.js';
import { openRedis, redisUrl } from '../support/redis.js';
import { RecordingHandlers } from '../support/recording-handlers.js';
import { TcpProxy } from '../support/tcp-proxy.js';

jest.setTimeout(30_000);

describe('a reply that is lost', () => {
  let proxy: TcpProxy;
  /** Its worker reaches Redis through the proxy. */
  let app: TestApp;
  /** Not behind the proxy. */
  let outside: TestApp;
  let handlers: RecordingHandlers;

  beforeEach(async () => {
    proxy = await TcpProxy.start(redisUrl());
    app = await startApp({
      providers: [RecordingHandlers],
      // One slot: the next claim travels together with the settlement of the job before.
      options: {
        connection: { url: proxy.url },
        queues: [{ ...QUICK_QUEUE, leaseMs: 20_000, concurrency: 1 }],
      },
    });
    handlers = app.context.get(RecordingHandlers);
    outside = await startApp({ options: { worker: false, prefix: app.prefix } });
    // Afterwards Redis knows the scripts, and the worker waits.
    await outside.queue.enqueue('note', {}, { jobId: 'warm-up' });
    await isDone('warm-up');
  });
  afterEach(async () => {
    await outside.close();
    await app.close();
    await proxy.stop();
  });

  async function isDone(jobId: string): Promise<void> {
    await eventually(async () => (await outside.inspector.get(jobId)).status === 'done', { what: jobId });
  }

  /** Every job ran once and was settled once, in its first attempt; no worker holds anything any more. */
  async function expectEachOnce(...jobIds: string[]): Promise<void> {
    for (const jobId of jobIds) {
      await isDone(jobId);
      expect(handlers.runsOf(jobId)).toEqual([expect.objectContaining({ jobId, attempt: 1 })]);
    }
    const { counts, lifetime } = await outside.inspector.snapshot();
    const done = jobIds.length + 1;
    expect(counts).toMatchObject({ done, processing: 0, queued: 0 });
    expect(lifetime).toMatchObject({ enqueued: done, done, lost_leases: 0, stale_refused: 0, retried: 0 });
    const redis = openRedis();
    const held = await redis.keys(`${app.prefix}:*:held:*`);
    redis.disconnect();
    expect(held).toEqual([]);
  }

  const settles =
    (jobId: string) =>
    (request: string): boolean =>
      request.includes(jobId) && request.includes('\r\ndone - ');

  it('of a claim: the job is not orphaned', async () => {
    const lost = proxy.loseReply((reply) => reply.includes('claimed-unheard'));
    await outside.queue.enqueue('note', {}, { jobId: 'claimed-unheard' });
    await lost;
    await expectEachOnce('claimed-unheard');
  });

  it('of a settlement: it is not taken for a stale one', async () => {
    await outside.queue.enqueue('hold', {}, { jobId: 'settled-unheard' });
    await eventually(() => handlers.runsOf('settled-unheard').length === 1);
    const lost = proxy.loseReplyTo(settles('settled-unheard'));
    handlers.finish('settled-unheard');
    await lost;
    await expectEachOnce('settled-unheard');
  });

  it('of a settlement and a claim in one: neither happens twice', async () => {
    await outside.queue.enqueue('hold', {}, { jobId: 'settled-unheard' });
    await eventually(() => handlers.runsOf('settled-unheard').length === 1);
    await outside.queue.enqueue('note', {}, { jobId: 'claimed-unheard' });
    const lost = proxy.loseReplyTo(settles('settled-unheard'));
    handlers.finish('settled-unheard');
    await lost;
    await expectEachOnce('settled-unheard', 'claimed-unheard');
  });

  it('of a claim, again and again: still one run', async () => {
    for (let times = 1; times <= 4; times++) {
      const jobId = `unlucky-${times}`;
      // The repeated call's reply is lost too.
      const first = proxy.loseReply((reply) => reply.includes(jobId));
      await outside.queue.enqueue('note', {}, { jobId });
      await first;
      await proxy.loseReply((reply) => reply.includes(jobId));
    }
    await expectEachOnce('unlucky-1', 'unlucky-2', 'unlucky-3', 'unlucky-4');
  });

  it('of an enqueue: the caller learns the id, and repeating it finds the job', async () => {
    const lost = proxy.loseReplyTo((request) => request.includes('enqueued-unheard'));
    const attempt = app.queue.enqueue('note', {}, { jobId: 'enqueued-unheard' });
    await expect(attempt).rejects.toThrow(EnqueueUnknownError);
    await expect(attempt).rejects.toMatchObject({ jobId: 'enqueued-unheard' });
    await lost;
    const again = await eventually(() => app.queue.enqueue('note', {}, { jobId: 'enqueued-unheard' }));
    expect(again).toMatchObject({ jobId: 'enqueued-unheard', duplicate: true });
    await expectEachOnce('enqueued-unheard');
  });
});
