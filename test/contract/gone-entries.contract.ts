/**
 * Contract: jobs that leave the queue from its middle. A store may leave their entries standing, for
 * taking them out would cost a scan; nobody must be able to tell.
 */
import { expect, it } from '@jest/globals';
import type { JobCounts } from '#lib/store/job-store.js';
import { newJob, OUTCOMES, PASSED_MS, SHORT_MS, useStore, type ContractFactory } from './contract-store.js';

export function describeGoneEntries(factory: ContractFactory): void {
  const driver = useStore(factory);

  const expectCounts = async (counts: Partial<JobCounts>) => {
    expect(await driver().counts()).toEqual(counts);
    expect(await driver().idsOf('queued')).toHaveLength(counts.queued ?? 0);
  };

  it('skips cancelled and removed jobs and keeps the order of the others', async () => {
    await driver().enqueueAll('a', 'b', 'c', 'd', 'e');
    await driver().store.cancel('a');
    await driver().store.remove('c');
    await driver().store.cancel('e');

    await expectCounts({ queued: 2, cancelled: 2 });
    expect(await driver().claimIds(2)).toEqual(['b', 'd']);
    expect(await driver().claim()).toEqual([]);
    await expectCounts({ processing: 2, cancelled: 2 });
  });

  it('runs a job once that was removed and enqueued again', async () => {
    await driver().enqueueAll('a', 'b');
    expect(await driver().store.remove('a')).toEqual({ kind: 'moved', from: 'queued' });
    await expectCounts({ queued: 1 });
    expect(await driver().enqueue('a')).toEqual({ jobId: 'a', status: 'queued', duplicate: false });
    await expectCounts({ queued: 2 });

    const claimed = await driver().claim();
    expect(claimed.map(({ jobId }) => jobId).toSorted()).toEqual(['a', 'b']);
    await expectCounts({ processing: 2 });
    expect(await driver().claim()).toEqual([]);
    for (const attempt of claimed) await driver().settle(attempt, OUTCOMES.done);
    await expectCounts({ done: 2 });
    expect(await driver().claim()).toEqual([]);
  });

  it('gives a job that was removed and enqueued again its new place', async () => {
    await driver().enqueueAll('a', 'b');
    await driver().store.remove('a');
    await driver().enqueue('a');
    expect(await driver().idsOf('queued')).toEqual(['b', 'a']);
    expect(await driver().claimIds()).toEqual(['b', 'a']);
  });

  it('gives a job that was removed and enqueued again its new priority', async () => {
    await driver().enqueue('a', { priority: 0 });
    await driver().enqueue('b');
    await driver().store.remove('a');
    await driver().enqueue('a', { priority: 9 });
    expect(await driver().idsOf('queued')).toEqual(['b', 'a']);
    expect(await driver().claimIds()).toEqual(['b', 'a']);
    await expectCounts({ processing: 2 });
  });

  it('lets a job wait that was removed and enqueued again with a delay', async () => {
    await driver().enqueueAll('a', 'b');
    await driver().store.remove('a');
    await driver().enqueue('a', { delayMs: SHORT_MS });
    await expectCounts({ queued: 1, scheduled: 1 });

    await driver().advance(PASSED_MS);
    expect(await driver().claimIds()).toEqual(expect.arrayContaining(['a', 'b']));
    await expectCounts({ processing: 2 });
    expect(await driver().claim()).toEqual([]);
  });

  it('does not run a delayed job early because of its former entry', async () => {
    await driver().enqueueAll('a', 'b');
    await driver().store.remove('a');
    await driver().enqueue('a', { delayMs: 60_000 });
    expect(await driver().claimIds()).toEqual(['b']);
    await expectCounts({ processing: 1, scheduled: 1 });
  });

  it('runs a job once that was removed and enqueued again many times', async () => {
    await driver().enqueue('b');
    for (const priority of [5, 5, 0, 9, 5]) {
      await driver().enqueue('a', { priority });
      await driver().store.cancel('a');
      await expectCounts({ queued: 1, cancelled: 1 });
      await driver().store.remove('a');
      await expectCounts({ queued: 1 });
    }
    await driver().enqueue('a');
    await expectCounts({ queued: 2 });

    const claimed = await driver().claim();
    expect(claimed.map(({ jobId }) => jobId).toSorted()).toEqual(['a', 'b']);
    for (const attempt of claimed) await driver().settle(attempt, { ...OUTCOMES.retry, delayMs: 0 });
    await expectCounts({ retrying: 2 });
    expect(await driver().claim()).toHaveLength(2);
    await expectCounts({ processing: 2 });
    expect(await driver().claim()).toEqual([]);
  });

  it('keeps the counts right when such a job goes back to the head', async () => {
    await driver().enqueueAll('x', 'a');
    await driver().store.remove('a');
    await driver().enqueue('a', { priority: 0 });
    const claimed = await driver().claimOne();
    expect(claimed.jobId).toBe('a');
    await driver().settle(claimed, OUTCOMES.release);
    await expectCounts({ queued: 2 });

    expect(await driver().claimIds(1)).toEqual(['a']);
    await expectCounts({ queued: 1, processing: 1 });
    expect(await driver().claimIds(5)).toEqual(['x']);
    await expectCounts({ processing: 2 });
  });

  it('lists such a job at the place of its new priority', async () => {
    await driver().enqueue('a', { priority: 5 });
    await driver().store.remove('a');
    await driver().store.enqueue([
      newJob('a', { priority: 3 }),
      newJob('b', { priority: 3 }),
      newJob('c', { priority: 5 }),
    ]);
    expect(await driver().idsOf('queued')).toEqual(['a', 'b', 'c']);
    expect(await driver().claimIds()).toEqual(['a', 'b', 'c']);
  });

  it('comes through thousands of them', async () => {
    const ids = Array.from({ length: 3_000 }, (_, i) => `job-${i}`);
    for (let i = 0; i < ids.length; i += 250) {
      await driver().store.enqueue(ids.slice(i, i + 250).map((id) => newJob(id)));
    }
    await driver().enqueue('last');
    for (let i = 0; i < ids.length; i += 100) {
      await Promise.all(ids.slice(i, i + 100).map((id) => driver().store.cancel(id)));
    }
    expect(await driver().counts()).toEqual({ queued: 1, cancelled: 3_000 });

    const claimed: string[] = [];
    let calls = 0;
    for (let more = true; more && calls < 50; calls += 1) {
      const reply = await driver().exchange({ claimMax: 10 });
      claimed.push(...reply.claimed.map(({ jobId }) => jobId));
      more = reply.more;
    }
    expect(claimed).toEqual(['last']);
    expect(await driver().counts()).toEqual({ processing: 1, cancelled: 3_000 });
    expect(await driver().exchange({ claimMax: 10 })).toMatchObject({ claimed: [], more: false });
  });
}
