/** Redriving many dead jobs at once. On both stores. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { JobHandler, PermanentError } from '@fenceline/nestjs';
import { QueueRegistry } from '#lib/queue/queue-registry.js';
import { eventually } from '../support/eventually.js';
import { QUICK_QUEUE, startApp, STORES, type TestApp } from '../support/nest-app.js';

@Injectable()
class Handlers {
  @JobHandler('mail')
  async mail({ to }: { to: string }): Promise<void> {
    throw new PermanentError(`550 no mailbox ${to}`);
  }

  @JobHandler('report')
  async report(): Promise<void> {
    throw new PermanentError('the disk is full');
  }
}

describe.each(STORES)('redriveAll on %s', (store) => {
  let app: TestApp;

  beforeEach(async () => {
    app = await startApp({
      store,
      providers: [Handlers],
      options: { queues: [{ ...QUICK_QUEUE, concurrency: 100 }] },
    });
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await app.close();
  });

  const bury = async (mails: number, reports: number): Promise<void> => {
    const mailJobs = Array.from({ length: mails }, (_, i) => ({ job: 'mail', payload: { to: `${i}@x` } }));
    const reportJobs = Array.from({ length: reports }, () => ({ job: 'report', payload: {} }));
    await app.queue.enqueueMany([...mailJobs, ...reportJobs]);
    await eventually(async () => (await app.inspector.snapshot()).counts.dead === mails + reports);
    await app.admin.pause();
  };
  const counts = async (): Promise<object> => (await app.inspector.snapshot()).counts;

  it('takes them in batches, and tells how far it is', async () => {
    await bury(1_200, 0);
    const progress: unknown[] = [];
    expect(await app.admin.redriveAll({ onProgress: (now) => progress.push(now) })).toBe(1_200);
    expect(progress.slice(0, 3)).toEqual([500, 1_000, 1_200].map((n) => ({ examined: n, redriven: n })));
    expect(await counts()).toMatchObject({ queued: 1_200, dead: 0 });
  });

  it('picks by type and by error text', async () => {
    await bury(3, 2);
    expect(await app.admin.redriveAll({ type: 'report', errorText: 'no mailbox' })).toBe(0);
    expect(await app.admin.redriveAll({ type: 'report' })).toBe(2);
    expect(await app.admin.redriveAll({ errorText: 'no mailbox 1@x' })).toBe(1);
    expect(await counts()).toMatchObject({ queued: 3, dead: 2 });
  });

  it('leaves alone what dies meanwhile, so it ends although all fail again at once', async () => {
    await bury(20, 0);
    await app.admin.resume();
    expect(await app.admin.redriveAll()).toBe(20);
    await eventually(async () => (await app.inspector.snapshot()).counts.dead === 20);
  });

  it('goes on to the end while somebody else redrives some of them', async () => {
    await bury(1_200, 0);
    const jobs = app.context.get(QueueRegistry).defaultQueue.store;
    const read = jobs.read.bind(jobs);
    jest.spyOn(jobs, 'read').mockImplementation(async (ids) => {
      // The last of each page, between the list and the look at it.
      const last = ids.at(-1);
      if (ids.length > 1 && last !== undefined) await jobs.redrive(last);
      return read(ids);
    });
    expect(await app.admin.redriveAll()).toBe(1_200 - 3);
    expect(await counts()).toMatchObject({ queued: 1_200, dead: 0 });
  });

  it('does nothing when nothing is dead', async () => {
    expect(await app.admin.redriveAll()).toBe(0);
  });
});
