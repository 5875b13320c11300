/** Contract: jobs of workers that fell silent come back, and what those workers say later is refused. */
import { expect, it } from '@jest/globals';
import {
  LONG_MS,
  newJob,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  useStore,
  worker,
  type ContractFactory,
} from './contract-store.js';

export function describeReap(factory: ContractFactory): void {
  const driver = useStore(factory);

  const reap = async (limit = 10) => {
    await driver().advance(PASSED_MS);
    return driver().store.reap(LONG_MS, limit);
  };

  it('gives an expired job back, its attempt counted', async () => {
    await driver().enqueue('a');
    const { token } = await driver().claimOne({ leaseMs: SHORT_MS });

    expect(await reap()).toEqual({
      reaped: [{ jobId: 'a', attempt: 1, token, workerId: 'worker-1', status: 'queued' }],
      more: false,
    });

    const record = await driver().read('a');
    expect(record).toMatchObject({ status: 'queued', attempt: 1, token: undefined });
    expect(record.leaseExpiresAt).toBeUndefined();
    expect(await driver().counts()).toEqual({ queued: 1 });
    expect(await driver().lifetime()).toMatchObject({ lost_leases: 1 });
    const again = await driver().claimOne();
    expect(again).toMatchObject({ jobId: 'a', attempt: 2 });
    expect(again.token).toBeGreaterThan(token);
  });

  it('takes no lease that stands', async () => {
    await driver().enqueueAll('a', 'b');
    await driver().claimOne({ leaseMs: SHORT_MS });
    await driver().claimOne({ leaseMs: LONG_MS });
    expect((await reap()).reaped.map(({ jobId }) => jobId)).toEqual(['a']);
    expect(await driver().read('b')).toMatchObject({ status: 'processing' });
  });

  it('puts them at the head of their priority, the one that expired first in front', async () => {
    await driver().store.enqueue([
      newJob('later'),
      newJob('sooner'),
      newJob('ready-5'),
      newJob('slow', { priority: 7 }),
      newJob('ready-7', { priority: 7 }),
    ]);
    const [later, sooner] = await driver().claim(2, { leaseMs: LONG_MS });
    const ready5 = await driver().claimOne({ leaseMs: LONG_MS });
    await driver().claimOne({ leaseMs: SHORT_MS });
    await driver().settle(ready5, OUTCOMES.release);
    if (!later || !sooner) throw new Error('two jobs were ready');
    await driver().store.renew(worker('worker-1'), [sooner], SHORT_MS / 2);
    await driver().store.renew(worker('worker-1'), [later], SHORT_MS);

    expect((await reap()).reaped).toHaveLength(3);
    expect(await driver().claimIds()).toEqual(['sooner', 'later', 'ready-5', 'slow', 'ready-7']);
  });

  it('takes at most the limit, the first to expire, and says that there may be more', async () => {
    await driver().enqueueAll('a', 'b', 'c');
    for (const leaseMs of [SHORT_MS / 2, SHORT_MS, SHORT_MS]) await driver().claimOne({ leaseMs });
    const first = await reap(2);
    expect(first.reaped.map(({ jobId }) => jobId)).toContain('a');
    expect(first.reaped).toHaveLength(2);
    expect(first.more).toBe(true);
    const second = await driver().store.reap(LONG_MS, 2);
    expect(second.reaped).toHaveLength(1);
    expect(second.more).toBe(false);
    expect(await driver().lifetime()).toMatchObject({ lost_leases: 3 });
  });

  it('reaps a lease once', async () => {
    await driver().enqueue('a');
    await driver().claimOne({ leaseMs: SHORT_MS });
    await reap();
    expect(await driver().store.reap(LONG_MS, 10)).toEqual({ reaped: [], more: false });
    expect(await driver().counts()).toEqual({ queued: 1 });
  });

  it('ends a job whose cancellation was asked for', async () => {
    await driver().enqueue('a');
    const { token } = await driver().claimOne({ leaseMs: SHORT_MS });
    await driver().store.cancel('a');

    expect((await reap()).reaped).toEqual([
      { jobId: 'a', attempt: 1, token, workerId: 'worker-1', status: 'cancelled' },
    ]);
    expect(await driver().counts()).toEqual({ cancelled: 1 });
    expect(await driver().lifetime()).toMatchObject({ lost_leases: 1, cancelled: 1 });
    expect(await driver().idsOf('cancelled')).toEqual(['a']);
    expect(await driver().claim()).toEqual([]);
  });

  it('refuses the former holder while the job is queued', async () => {
    await driver().enqueue('a');
    const former = await driver().claimOne({ leaseMs: SHORT_MS });
    await reap();
    const before = await driver().read('a');

    expect(await driver().settle(former, OUTCOMES.done)).toEqual({
      applied: false,
      status: 'queued',
      holder: undefined,
    });
    expect(await driver().store.writeCheckpoint('a', former.token, '1')).toBe(false);
    expect(await driver().read('a')).toEqual(before);
    expect(await driver().lifetime()).toMatchObject({ done: 0, stale_refused: 1 });
  });

  it('refuses the former holder while another one runs the job', async () => {
    await driver().enqueue('a');
    const former = await driver().claimOne({ leaseMs: SHORT_MS });
    await reap();
    const current = await driver().claimOne({ workerId: 'worker-2' });
    const before = await driver().read('a');

    for (const outcome of Object.values(OUTCOMES)) {
      expect(await driver().settle(former, outcome)).toEqual({
        applied: false,
        status: 'processing',
        holder: 'worker-2',
      });
    }
    expect(await driver().store.writeCheckpoint('a', former.token, '1')).toBe(false);
    const { lost } = await driver().store.renew(worker('worker-1'), [former], LONG_MS);
    expect(lost).toEqual(['a']);

    expect(await driver().read('a')).toEqual(before);
    expect(await driver().store.readCheckpoint('a')).toBeUndefined();
    expect(await driver().settle(current, OUTCOMES.done)).toEqual({ applied: true, status: 'done' });
    expect(await driver().lifetime()).toMatchObject({ done: 1, stale_refused: 6 });
  });
}
