/** Contract: what each outcome does to its job, and that only the current token may say it. */
import { expect, it } from '@jest/globals';
import { ERROR, LONG_MS, OUTCOMES, useStore, type ContractFactory } from './contract-store.js';

/** The stored error: as it was written, with the store's time in front. */
const STAMPED = /^\{"at":\d+,"name":"Error","message":"it failed"\}$/;

export function describeSettle(factory: ContractFactory): void {
  const driver = useStore(factory);

  it('done: stores the result and keeps who ran it', async () => {
    const { token } = await driver().run('a', { kind: 'done', result: '{"n":12345678901234567890,"l":[]}' });

    const record = await driver().read('a');
    expect(record).toMatchObject({ status: 'done', attempt: 1, token, workerId: 'worker-1' });
    expect(record.result).toBe('{"n":12345678901234567890,"l":[]}');
    expect(record.error).toBeUndefined();
    expect(record.leaseExpiresAt).toBeUndefined();
    expect(record.updatedAt).toBeGreaterThanOrEqual(Number(record.startedAt));
    expect(await driver().lifetime()).toMatchObject({ done: 1 });
  });

  it('done: without a result there is none', async () => {
    await driver().run('a', { kind: 'done' });
    expect((await driver().read('a')).result).toBeUndefined();
  });

  it('done: leaves the error of an earlier attempt', async () => {
    await driver().run('a', { ...OUTCOMES.retry, delayMs: 0 });
    await driver().settle(await driver().claimOne(), OUTCOMES.done);
    expect(await driver().read('a')).toMatchObject({
      status: 'done',
      attempt: 2,
      error: expect.stringMatching(STAMPED),
    });
  });

  it('retry: waits for its delay, with the error', async () => {
    const { token } = await driver().run('a', OUTCOMES.retry);
    const record = await driver().read('a');
    expect(record).toMatchObject({ status: 'retrying', attempt: 1, token, workerId: 'worker-1' });
    expect(record.error).toMatch(STAMPED);
    expect(record.dueAt).toBe(Number(record.updatedAt) + LONG_MS);
    expect(record.leaseExpiresAt).toBeUndefined();
    expect(await driver().claim()).toEqual([]);
    expect(await driver().lifetime()).toMatchObject({ retried: 1, dead: 0 });
  });

  it('retry: counts the attempts and gives each a greater token', async () => {
    let last = await driver().run('a', { ...OUTCOMES.retry, delayMs: 0 });
    for (const attempt of [2, 3, 4]) {
      const claimed = await driver().claimOne();
      expect(claimed).toMatchObject({ jobId: 'a', attempt });
      expect(claimed.token).toBeGreaterThan(last.token);
      await driver().settle(claimed, { ...OUTCOMES.retry, delayMs: 0 });
      last = claimed;
    }
    expect(await driver().read('a')).toMatchObject({ attempt: 4 });
  });

  it('retry: keeps the error of the latest attempt', async () => {
    await driver().run('a', { ...OUTCOMES.retry, delayMs: 0 });
    await driver().settle(await driver().claimOne(), { ...OUTCOMES.retry, error: '{"message":"again"}' });
    expect((await driver().read('a')).error).toMatch(/^\{"at":\d+,"message":"again"\}$/);
  });

  it('dead: stores the reason and the error', async () => {
    const { token } = await driver().run('a', OUTCOMES.dead);
    expect(await driver().read('a')).toMatchObject({
      status: 'dead',
      attempt: 1,
      token,
      deadReason: 'permanent_error',
      error: expect.stringMatching(STAMPED),
    });
    expect(await driver().lifetime()).toMatchObject({ dead: 1 });
  });

  it('cancelled: ends the job, asked for or not', async () => {
    await driver().run('a', OUTCOMES.cancelled);
    expect(await driver().read('a')).toMatchObject({ status: 'cancelled', attempt: 1 });
    expect(await driver().lifetime()).toMatchObject({ cancelled: 1 });
  });

  it('release: to the head of its priority, the attempt not counted', async () => {
    await driver().enqueueAll('a', 'b');
    await driver().enqueue('urgent', { priority: 0 });
    const [urgent, a] = await driver().claim(2);
    if (!urgent || !a) throw new Error('two jobs were ready');

    await driver().settle(a, OUTCOMES.release);

    expect(await driver().read('a')).toMatchObject({
      status: 'queued',
      attempt: 0,
      leaseExpiresAt: undefined,
    });
    await driver().enqueue('urgent-2', { priority: 0 });
    expect(await driver().idsOf('queued')).toEqual(['urgent-2', 'a', 'b']);
    const claimed = await driver().claim();
    expect(claimed.map(({ jobId, attempt }) => [jobId, attempt])).toEqual([
      ['urgent-2', 1],
      ['a', 1],
      ['b', 1],
    ]);
    expect(await driver().lifetime()).toMatchObject({ released: 1 });
  });

  it('snooze: waits for its delay, the attempt not counted', async () => {
    await driver().run('a', OUTCOMES.snooze);
    const record = await driver().read('a');
    expect(record).toMatchObject({ status: 'scheduled', attempt: 0, leaseExpiresAt: undefined });
    expect(record.error).toMatch(STAMPED);
    expect(record.dueAt).toBe(Number(record.updatedAt) + LONG_MS);
    expect(await driver().lifetime()).toMatchObject({ snoozed: 1, retried: 0 });
  });

  it('snooze: remembers the first refusal until something else happens', async () => {
    const snooze = { ...OUTCOMES.snooze, delayMs: 0 };
    await driver().run('a', snooze);
    const refusedAt = (await driver().read('a')).updatedAt;
    const second = await driver().claimOne();
    expect(second).toMatchObject({ attempt: 1, firstRefusedAt: refusedAt });

    await driver().advance(5);
    await driver().settle(second, snooze);
    const third = await driver().claimOne();
    expect(third).toMatchObject({ attempt: 1, firstRefusedAt: refusedAt });

    await driver().settle(third, { ...OUTCOMES.retry, delayMs: 0 });
    expect(await driver().claimOne()).toMatchObject({ attempt: 2, firstRefusedAt: undefined });
  });

  it('snooze: a redrive forgets the first refusal', async () => {
    await driver().run('a', { ...OUTCOMES.snooze, delayMs: 0 });
    await driver().settle(await driver().claimOne(), OUTCOMES.dead);
    await driver().store.redrive('a');
    expect(await driver().claimOne()).toMatchObject({ attempt: 1, firstRefusedAt: undefined });
  });

  it('answers a batch in its order, the stale ones among the others', async () => {
    await driver().enqueueAll('a', 'b', 'c');
    const [a, b, c] = await driver().claim();
    if (!a || !b || !c) throw new Error('three jobs were ready');
    await driver().settle(b, OUTCOMES.retry);

    const { settled } = await driver().exchange({
      settlements: [
        { jobId: 'a', token: a.token, outcome: OUTCOMES.done },
        { jobId: 'b', token: b.token, outcome: OUTCOMES.done },
        { jobId: 'nobody', token: c.token, outcome: OUTCOMES.done },
        { jobId: 'c', token: a.token, outcome: OUTCOMES.done },
        { jobId: 'c', token: c.token, outcome: { kind: 'dead', reason: 'payload_invalid', error: ERROR } },
        { jobId: 'c', token: c.token, outcome: OUTCOMES.done },
      ],
    });

    expect(settled).toEqual([
      { applied: true, status: 'done' },
      { applied: false, status: 'retrying', holder: undefined },
      { applied: false, status: undefined, holder: undefined },
      { applied: false, status: 'processing', holder: 'worker-1' },
      { applied: true, status: 'dead' },
      { applied: false, status: 'dead', holder: undefined },
    ]);
    expect(await driver().lifetime()).toMatchObject({ done: 1, dead: 1, retried: 1, stale_refused: 4 });
  });

  it('keeps the order of jobs that are released together, in front of all others', async () => {
    await driver().enqueueAll('a', 'b', 'c', 'd');
    const claimed = await driver().claim(3);
    const settlements = claimed.map(({ jobId, token }) => ({ jobId, token, outcome: OUTCOMES.release }));
    await driver().exchange({ settlements });
    expect(await driver().claimIds()).toEqual(['a', 'b', 'c', 'd']);
  });
}
