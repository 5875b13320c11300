/** Contract: the heartbeat, and who a lease belongs to. */
import { expect, it } from '@jest/globals';
import {
  LONG_MS,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  useStore,
  worker,
  type ContractFactory,
} from './contract-store.js';

export function describeLeases(factory: ContractFactory): void {
  const driver = useStore(factory);

  it('renews every lease of a worker', async () => {
    await driver().enqueueAll('a', 'b');
    const leases = await driver().claim(2, { leaseMs: SHORT_MS });
    const before = await driver().read('a');

    const reply = await driver().store.renew(worker('worker-1'), leases, LONG_MS);

    expect(reply).toEqual({ lost: [], cancelRequested: [] });
    const after = await driver().read('a');
    expect(after.leaseExpiresAt).toBeGreaterThanOrEqual(Number(before.startedAt) + LONG_MS);
    expect(after).toEqual({ ...before, leaseExpiresAt: after.leaseExpiresAt });
    await driver().advance(PASSED_MS);
    expect((await driver().store.reap(LONG_MS, 10)).reaped).toEqual([]);
  });

  it('accepts a heartbeat without leases', async () => {
    const reply = await driver().store.renew(worker('worker-1'), [], LONG_MS);
    expect(reply).toEqual({ lost: [], cancelRequested: [] });
  });

  it('renews an expired lease that nobody has reaped', async () => {
    await driver().enqueue('a');
    const leases = await driver().claim(1, { leaseMs: SHORT_MS });
    await driver().advance(PASSED_MS);

    const reply = await driver().store.renew(worker('worker-1'), leases, LONG_MS);

    expect(reply.lost).toEqual([]);
    expect((await driver().store.reap(LONG_MS, 10)).reaped).toEqual([]);
  });

  it('settles an expired lease that nobody has reaped', async () => {
    await driver().enqueue('a');
    const claimed = await driver().claimOne({ leaseMs: SHORT_MS });
    await driver().advance(PASSED_MS);
    expect(await driver().settle(claimed, OUTCOMES.done)).toEqual({ applied: true, status: 'done' });
  });

  it('names the leases that are lost: ended, reaped, taken by another, removed', async () => {
    const ended = await driver().run('ended', OUTCOMES.done);
    const removed = await driver().run('removed', OUTCOMES.done);
    await driver().store.remove('removed');
    await driver().enqueueAll('taken', 'reaped');
    const expired = await driver().claim(2, { leaseMs: SHORT_MS });
    await driver().advance(PASSED_MS);
    await driver().store.reap(LONG_MS, 10);
    await driver().claim(1, { workerId: 'worker-2' });
    await driver().enqueue('held', { priority: 0 });
    const held = await driver().claimOne();
    const before = await driver().store.read(['taken', 'reaped', 'ended']);

    const leases = [ended, removed, ...expired, held];
    const { lost } = await driver().store.renew(worker('worker-1'), leases, LONG_MS);

    expect(lost.toSorted()).toEqual(['ended', 'reaped', 'removed', 'taken']);
    expect(await driver().store.read(['taken', 'reaped', 'ended'])).toEqual(before);
  });

  it('tells with the heartbeat which cancellations were asked for', async () => {
    await driver().enqueueAll('a', 'b', 'c');
    const leases = await driver().claim();
    await driver().store.cancel('b');
    const reply = await driver().store.renew(worker('worker-1'), leases, LONG_MS);
    expect(reply).toEqual({ lost: [], cancelRequested: ['b'] });
  });

  it('leaves the jobs of a worker that signs off to the reaper', async () => {
    await driver().enqueue('a');
    await driver().claimOne({ leaseMs: SHORT_MS });
    await driver().store.signOff('worker-1');
    expect(await driver().read('a')).toMatchObject({ status: 'processing' });

    await driver().advance(PASSED_MS);
    expect((await driver().store.reap(LONG_MS, 10)).reaped).toHaveLength(1);
    expect(await driver().counts()).toEqual({ queued: 1 });
  });

  it('signs off a worker it never heard of', async () => {
    await expect(driver().store.signOff('nobody')).resolves.toBeUndefined();
  });
}
