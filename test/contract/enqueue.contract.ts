/** Contract: taking jobs in, each id once. */
import { expect, it } from '@jest/globals';
import { InvalidOptionError } from '#lib/errors/errors.js';
import { LONG_MS, newJob, OUTCOMES, useStore, type ContractFactory } from './contract-store.js';

function createdAt(spec: string | undefined): number {
  const [, time] = /^\{"created_at":(\d+),/.exec(spec ?? '') ?? [];
  return Number(time);
}

export function describeEnqueue(factory: ContractFactory): void {
  const driver = useStore(factory);

  it('queues a job without a delay', async () => {
    expect(await driver().enqueue('a', { priority: 3 })).toEqual({
      jobId: 'a',
      status: 'queued',
      duplicate: false,
    });

    expect(await driver().read('a')).toEqual({
      id: 'a',
      status: 'queued',
      spec: expect.any(String),
      priority: 3,
      attempt: 0,
      token: undefined,
      workerId: undefined,
      startedAt: undefined,
      updatedAt: undefined,
      dueAt: undefined,
      leaseExpiresAt: undefined,
      deadReason: undefined,
      redriveCount: 0,
      attemptsBeforeRedrive: 0,
      cancelRequested: false,
      result: undefined,
      error: undefined,
    });
  });

  it('schedules a job with a delay', async () => {
    expect(await driver().enqueue('a', { delayMs: LONG_MS })).toMatchObject({ status: 'scheduled' });

    const { status, spec, dueAt } = await driver().read('a');
    expect(status).toBe('scheduled');
    expect(dueAt).toBe(createdAt(spec) + LONG_MS);
    expect(await driver().claim()).toEqual([]);
  });

  it('keeps the priority of a scheduled job', async () => {
    await driver().enqueue('a', { delayMs: LONG_MS, priority: 9 });
    expect(await driver().read('a')).toMatchObject({ status: 'scheduled', priority: 9 });
  });

  it('stores the spec as it was written, with created_at in front', async () => {
    const fields = '"n":12345678901234567890,"list":[],"none":{},"text":"\\u2028 é 😀 \\"}","x":1e400}';
    await driver().enqueue('a', { spec: `{${fields}` });

    const { spec } = await driver().read('a');
    const [claimed] = await driver().claim();
    expect(createdAt(spec)).toBeGreaterThan(0);
    expect(spec).toBe(`{"created_at":${createdAt(spec)},${fields}`);
    expect(claimed?.spec).toBe(spec);
  });

  it.each(['a:b', 'with "quotes" and spaces', 'é😀', '__proto__', 'total', '0'])(
    'accepts the id %j',
    async (id) => {
      await driver().enqueue(id);
      expect(await driver().idsOf('queued')).toEqual([id]);
      const claimed = await driver().claimOne();
      expect(claimed.jobId).toBe(id);
      expect(await driver().settle(claimed, OUTCOMES.done)).toEqual({ applied: true, status: 'done' });
      expect(await driver().read(id)).toMatchObject({ id, status: 'done' });
    },
  );

  it('changes nothing when the id is there already', async () => {
    await driver().enqueue('a', { priority: 2 });
    const before = await driver().read('a');

    const reply = await driver().enqueue('a', { spec: '{"type":"other"}', priority: 8, delayMs: LONG_MS });

    expect(reply).toEqual({ jobId: 'a', status: 'queued', duplicate: true });
    expect(await driver().read('a')).toEqual(before);
    expect(await driver().counts()).toEqual({ queued: 1 });
    expect(await driver().lifetime()).toMatchObject({ enqueued: 1, duplicates: 1 });
  });

  it('answers a duplicate with the status of the present job', async () => {
    await driver().enqueue('a');
    const claimed = await driver().claimOne();
    expect(await driver().enqueue('a')).toMatchObject({ status: 'processing', duplicate: true });

    await driver().settle(claimed, OUTCOMES.retry);
    expect(await driver().enqueue('a')).toMatchObject({ status: 'retrying', duplicate: true });

    await driver().enqueue('b', { delayMs: LONG_MS });
    expect(await driver().enqueue('b')).toMatchObject({ status: 'scheduled', duplicate: true });

    await driver().run('c', OUTCOMES.done);
    expect(await driver().enqueue('c')).toMatchObject({ status: 'done', duplicate: true });
    expect(await driver().claim()).toEqual([]);
  });

  it('stores the first of two equal ids in one call', async () => {
    const replies = await driver().store.enqueue([
      newJob('a', { spec: '{"type":"first"}' }),
      newJob('b'),
      newJob('a', { spec: '{"type":"second"}', delayMs: LONG_MS }),
    ]);

    expect(replies).toEqual([
      { jobId: 'a', status: 'queued', duplicate: false },
      { jobId: 'b', status: 'queued', duplicate: false },
      { jobId: 'a', status: 'queued', duplicate: true },
    ]);
    expect((await driver().read('a')).spec).toContain('"first"');
    expect(await driver().claimIds()).toEqual(['a', 'b']);
    expect(await driver().lifetime()).toMatchObject({ enqueued: 2, duplicates: 1 });
  });

  it('answers nothing to an empty call', async () => {
    expect(await driver().store.enqueue([])).toEqual([]);
    expect(await driver().counts()).toEqual({});
  });

  it('answers for a job that is twice in one call with the status that it has afterwards', async () => {
    const later = newJob('a', { delayMs: LONG_MS });
    const [, second] = await driver().store.enqueue([later, later]);
    expect(second).toEqual({ jobId: 'a', status: 'scheduled', duplicate: true });
    expect(await driver().counts()).toEqual({ scheduled: 1 });
  });

  it('takes 250 jobs in one call and keeps their order', async () => {
    const ids = Array.from({ length: 250 }, (_, i) => `job-${i}`);
    const replies = await driver().store.enqueue(ids.map((id) => newJob(id, { callerChosenId: false })));

    expect(replies.map(({ jobId }) => jobId)).toEqual(ids);
    expect(await driver().counts()).toEqual({ queued: 250 });
    const halves = [await driver().claimIds(125), await driver().claimIds(125)];
    expect(halves.flat()).toEqual(ids);
    expect(await driver().lifetime()).toMatchObject({ enqueued: 250, duplicates: 0 });
  });

  it('refuses more than 250 jobs and stores none of them', async () => {
    const jobs = Array.from({ length: 251 }, (_, i) => newJob(`job-${i}`));
    await expect(driver().store.enqueue(jobs)).rejects.toBeInstanceOf(InvalidOptionError);
    expect(await driver().counts()).toEqual({});
  });
}
