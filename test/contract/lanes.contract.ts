/** Contract: a repeated call of a lane is answered again, not carried out again; an overtaken one is refused. */
import { expect, it } from '@jest/globals';
import { SupersededCallError } from '#lib/errors/errors.js';
import { LONG_MS, OUTCOMES, PASSED_MS, SHORT_MS, useStore, type ContractFactory } from './contract-store.js';

export function describeLanes(factory: ContractFactory): void {
  const driver = useStore(factory);

  it('replays a settle', async () => {
    await driver().enqueueAll('a', 'b');
    const [a, b] = await driver().claim(2, { number: 1 });
    if (!a || !b) throw new Error('two jobs were ready');
    const settlements = [
      { jobId: 'a', token: a.token, outcome: { ...OUTCOMES.retry, delayMs: 0 } },
      { jobId: 'b', token: a.token, outcome: OUTCOMES.done },
    ];

    const first = await driver().exchange({ number: 2, settlements });
    const statistics = await driver().lifetime();
    const record = await driver().read('a');
    const second = await driver().exchange({ number: 2, settlements });

    expect(first.settled).toEqual([
      { applied: true, status: 'retrying' },
      { applied: false, status: 'processing', holder: 'worker-1' },
    ]);
    expect(second.settled).toEqual(first.settled);
    expect(await driver().read('a')).toEqual(record);
    expect(await driver().lifetime()).toEqual(statistics);
  });

  it('replays a settle after the job went on without it', async () => {
    await driver().enqueue('a');
    const { token } = await driver().claimOne({ number: 1 });
    const settlements = [{ jobId: 'a', token, outcome: { ...OUTCOMES.retry, delayMs: 0 } }];
    await driver().exchange({ number: 2, settlements });
    const other = await driver().claimOne({ workerId: 'worker-2' });
    const record = await driver().read('a');

    const { settled } = await driver().exchange({ number: 2, settlements });

    expect(settled).toEqual([{ applied: true, status: 'retrying' }]);
    expect(await driver().read('a')).toEqual(record);
    expect(record).toMatchObject({ status: 'processing', token: other.token, workerId: 'worker-2' });
  });

  it('replays a settle that ended as cancelled', async () => {
    await driver().enqueue('a');
    const { token } = await driver().claimOne({ number: 1 });
    await driver().store.cancel('a');
    const settlements = [{ jobId: 'a', token, outcome: OUTCOMES.retry }];
    const first = await driver().exchange({ number: 2, settlements });
    expect(first.settled).toEqual([{ applied: true, status: 'cancelled' }]);
    expect((await driver().exchange({ number: 2, settlements })).settled).toEqual(first.settled);
    expect(await driver().lifetime()).toMatchObject({ cancelled: 1 });
  });

  it('replays a claim without claiming again', async () => {
    await driver().enqueueAll('a', 'b', 'c', 'd');
    const first = await driver().exchange({ number: 1, claimMax: 2 });
    const second = await driver().exchange({ number: 1, claimMax: 2 });

    expect(second.claimed.toSorted((x, y) => x.token - y.token)).toEqual(first.claimed);
    expect(await driver().counts()).toEqual({ queued: 2, processing: 2 });
    expect((await driver().read('a')).attempt).toBe(1);
  });

  it('says after a replayed claim whether ready jobs are left', async () => {
    await driver().enqueueAll('a', 'b', 'c');
    await driver().exchange({ number: 1, claimMax: 2 });
    expect(await driver().exchange({ number: 1, claimMax: 2 })).toMatchObject({ more: true });
  });

  it('replays a claim of nothing', async () => {
    await driver().exchange({ number: 1, claimMax: 2 });
    await driver().enqueue('a');
    expect((await driver().exchange({ number: 1, claimMax: 2 })).claimed).toEqual([]);
    expect(await driver().counts()).toEqual({ queued: 1 });
    expect(await driver().claimIds()).toEqual(['a']);
  });

  it('renews the leases of a replayed claim', async () => {
    await driver().enqueue('a');
    await driver().exchange({ number: 1, claimMax: 1, leaseMs: SHORT_MS });
    await driver().advance(PASSED_MS);

    const { claimed, now } = await driver().exchange({ number: 1, claimMax: 1, leaseMs: LONG_MS });

    expect(claimed).toHaveLength(1);
    expect((await driver().read('a')).leaseExpiresAt).toBe(Number(now) + LONG_MS);
    expect((await driver().store.reap(LONG_MS, 10)).reaped).toEqual([]);
  });

  it('leaves out of a replayed claim what the worker no longer holds', async () => {
    await driver().enqueueAll('settled', 'reaped', 'held');
    const [settled] = await driver().claim(1, { number: 1, lane: 1 });
    const [, , held] = [
      settled,
      ...(await driver().claim(1, { number: 1, leaseMs: SHORT_MS })),
      ...(await driver().claim(1, { number: 1, lane: 2 })),
    ];
    if (!settled || !held) throw new Error('three jobs were ready');
    await driver().settle(settled, { ...OUTCOMES.retry, delayMs: LONG_MS });
    await driver().advance(PASSED_MS);
    await driver().store.reap(LONG_MS, 10);
    const [again] = await driver().claim(1, { workerId: 'worker-2' });
    expect(again?.jobId).toBe('reaped');

    expect(await driver().claim(1, { number: 1, lane: 1 })).toEqual([]);
    expect(await driver().claim(1, { number: 1, lane: 2 })).toEqual([held]);
    expect((await driver().read('reaped')).workerId).toBe('worker-2');
  });

  it('refuses a number that was overtaken, and does nothing', async () => {
    await driver().enqueueAll('a', 'b', 'c');
    const [a, b] = await driver().claim(2, { number: 4 });
    if (!a || !b) throw new Error('two jobs were ready');
    await driver().exchange({
      number: 6,
      settlements: [{ jobId: 'a', token: a.token, outcome: OUTCOMES.done }],
      claimMax: 1,
    });
    const counts = await driver().counts();

    const overtaken = driver().exchange({
      number: 5,
      settlements: [{ jobId: 'b', token: b.token, outcome: OUTCOMES.done }],
      claimMax: 1,
    });

    await expect(overtaken).rejects.toBeInstanceOf(SupersededCallError);
    expect(await driver().counts()).toEqual(counts);
    expect(await driver().read('b')).toMatchObject({ status: 'processing', token: b.token });
  });

  it('refuses each part of a call that was overtaken by the other part of a later one', async () => {
    await driver().enqueueAll('a', 'b', 'c');
    const [a, b] = await driver().claim(2, { number: 1 });
    if (!a || !b) throw new Error('two jobs were ready');
    await driver().exchange({
      number: 2,
      settlements: [{ jobId: 'a', token: a.token, outcome: OUTCOMES.done }],
    });
    await expect(driver().claim(2, { number: 1 })).rejects.toBeInstanceOf(SupersededCallError);

    await driver().claim(1, { number: 4 });
    const settlements = [{ jobId: 'b', token: b.token, outcome: OUTCOMES.done }];
    const overtaken = driver().exchange({ number: 3, settlements });
    await expect(overtaken).rejects.toBeInstanceOf(SupersededCallError);
    expect(await driver().read('b')).toMatchObject({ status: 'processing', token: b.token });
  });

  it('numbers each lane and each worker on its own', async () => {
    await driver().enqueueAll('a', 'b', 'c');
    expect(await driver().claim(1, { number: 7 })).toHaveLength(1);
    expect(await driver().claim(1, { number: 1, lane: 1 })).toHaveLength(1);
    expect(await driver().claim(1, { number: 1, workerId: 'worker-2' })).toHaveLength(1);
  });

  it('remembers the two parts of a call on their own', async () => {
    await driver().enqueueAll('a', 'b');
    const { jobId, token } = await driver().claimOne({ number: 1 });
    const settlements = [{ jobId, token, outcome: OUTCOMES.done }];

    // The claim of call 1 is replayed, its settlements are new.
    const { settled, claimed } = await driver().exchange({ number: 1, settlements, claimMax: 1 });

    expect(settled).toEqual([{ applied: true, status: 'done' }]);
    expect(claimed.map((job) => job.jobId)).not.toContain('b');
  });

  it('starts from 1 again after the worker signed off', async () => {
    await driver().enqueue('a');
    await driver()
      .claim(1, { number: 9 })
      .then(([a]) => a && driver().settle(a, OUTCOMES.done));
    await driver().store.signOff('worker-1');
    await driver().enqueue('b');
    expect(await driver().claim(1, { number: 1 })).toHaveLength(1);
  });

  it('remembers the calls of a worker that signed off while it holds leases', async () => {
    await driver().enqueueAll('a', 'b');
    const [held] = await driver().claim(1, { number: 9 });
    await driver().store.signOff('worker-1');
    await expect(driver().claim(1, { number: 8 })).rejects.toBeInstanceOf(SupersededCallError);
    expect(await driver().claim(1, { number: 9 })).toEqual([held]);
  });
}
