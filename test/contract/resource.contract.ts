/** Contract: two jobs with one resource key never run at once, and the ones that wait have their turn in order. */
import { describe, expect, it } from '@jest/globals';
import type { Outcome } from '#lib/job/outcome.js';
import {
  ERROR,
  LONG_MS,
  newJob,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  useStore,
  type ContractFactory,
} from './contract-store.js';

const KEYS = { resource: 'user:42' };

export function describeResource(factory: ContractFactory): void {
  const driver = useStore(factory);

  it('lets one job with the key run, and others pass the ones that wait', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b', 'c');
    await driver().enqueueWith({ resource: 'user:43' }, 'other');
    await driver().enqueue('free');

    const reply = await driver().exchange({ claimMax: 10 });

    expect(reply.claimed.map(({ jobId }) => jobId)).toEqual(['a', 'other', 'free']);
    expect(reply.blocked).toEqual(['b', 'c']);
    expect(reply.replayed).toEqual([]);
    expect(reply.more).toBe(false);
    expect(await driver().counts()).toEqual({ processing: 3, blocked: 2 });
    expect(await driver().lifetime()).toMatchObject({ blocked: 2 });
  });

  it('fills the slots with other jobs when some are blocked', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b', 'c');
    await driver().enqueueAll('d', 'e', 'f');
    expect(await driver().claimIds(3)).toEqual(['a', 'd', 'e']);
  });

  it('shows what a job waits for, and spends no attempt on it', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b');
    await driver().claim();
    const record = await driver().read('b');
    expect(record).toMatchObject({
      ...{ status: 'blocked', blockedOn: 'resource:user:42', resourceKey: 'user:42' },
      ...{ attempt: 0, token: undefined, workerId: undefined, startedAt: undefined },
    });
    expect(record.updatedAt).toEqual(expect.any(Number));
    expect(await driver().read('a')).toMatchObject({ blockedOn: undefined, resourceKey: 'user:42' });
  });

  it('claims nothing more while the key is busy', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b');
    await driver().claim();
    expect(await driver().exchange({ claimMax: 10 })).toMatchObject({
      claimed: [],
      blocked: [],
      more: false,
    });
  });

  it('lists blocked jobs in the order in which they were blocked', async () => {
    await driver().enqueueWith(KEYS, 'a', 'z');
    await driver().claim();
    await driver().advance(5);
    await driver().enqueueWith(KEYS, 'b');
    await driver().claim();
    expect(await driver().idsOf('blocked')).toEqual(['z', 'b']);
    const newest = await driver().store.list({ status: 'blocked', limit: 1, order: 'newest' });
    expect(newest.ids).toEqual(['b']);
  });

  const FREEING: readonly Outcome[] = [
    OUTCOMES.done,
    OUTCOMES.retry,
    OUTCOMES.dead,
    OUTCOMES.cancelled,
    OUTCOMES.snooze,
  ];

  it.each(FREEING)('hands the key on when its holder settles as $kind', async (outcome) => {
    await driver().enqueueWith(KEYS, 'a', 'b', 'c');
    await driver().enqueue('free');
    const holder = await driver().claimOne();
    await driver().claim();

    await driver().settle(holder, outcome);

    expect(await driver().read('b')).toMatchObject({ status: 'queued', blockedOn: undefined, attempt: 0 });
    expect(await driver().statusOf('c')).toBe('blocked');
    expect(await driver().whereListed('b')).toEqual(['queued']);
    expect(await driver().claim()).toMatchObject([{ jobId: 'b', attempt: 1 }]);
  });

  it('keeps the order over many holders', async () => {
    const ids = Array.from({ length: 200 }, (_, i) => `${i}`);
    await driver().enqueueWith(KEYS, ...ids);
    await driver().claim(1);
    await driver().exchange({ claimMax: 1 });
    const first = await driver().read('0');
    await driver().settle({ jobId: '0', token: first.token ?? 0 }, OUTCOMES.done);
    expect(await driver().drain()).toEqual(ids.slice(1));
    expect(await driver().counts()).toEqual({ done: 200 });
    expect(await driver().lifetime()).toMatchObject({ blocked: 199 });
  });

  it('puts the next one at the head of its priority, with the key reserved', async () => {
    await driver().store.enqueue([
      newJob('a', { keys: KEYS, priority: 1 }),
      newJob('b', { keys: KEYS, priority: 7 }),
      newJob('c', { keys: KEYS, priority: 7 }),
      newJob('d', { priority: 7 }),
    ]);
    const holder = await driver().claimOne();
    await driver().exchange({ claimMax: 1 });
    await driver().enqueueWith(KEYS, 'late');
    await driver().settle(holder, OUTCOMES.done);
    // `late` has a better priority than `b`, for which the key is reserved.
    expect(await driver().exchange({ claimMax: 1 })).toMatchObject({
      claimed: [{ jobId: 'b' }],
      blocked: ['late'],
    });
  });

  it('keeps the place of a released job', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b');
    const holder = await driver().claimOne();
    await driver().claim();
    await driver().settle(holder, OUTCOMES.release);
    expect(await driver().statusOf('b')).toBe('blocked');
    expect(await driver().drain()).toEqual(['a', 'b']);
  });

  it('keeps the place of a job whose lease ran out', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b');
    const former = await driver().claimOne({ leaseMs: SHORT_MS });
    await driver().claim();
    await driver().advance(PASSED_MS);
    await driver().store.reap(LONG_MS, 10);
    expect(await driver().statusOf('b')).toBe('blocked');
    const current = await driver().claimOne({ workerId: 'worker-2' });
    expect(current).toMatchObject({ jobId: 'a', attempt: 2 });

    // The former holder changes nothing about the key.
    expect(await driver().settle(former, OUTCOMES.done)).toMatchObject({ applied: false });
    expect(await driver().statusOf('b')).toBe('blocked');
    await driver().settle(current, OUTCOMES.done);
    expect(await driver().drain()).toEqual(['b']);
  });

  it('makes a retried job wait its turn again', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b', 'c');
    const holder = await driver().claimOne();
    await driver().claim();
    await driver().settle(holder, { kind: 'retry', delayMs: 0, error: ERROR });
    expect(await driver().drain()).toEqual(['b', 'c', 'a']);
  });

  describe('whoever leaves', () => {
    it('hands on when it is the holder and its cancellation was asked for', async () => {
      await driver().enqueueWith(KEYS, 'a', 'b');
      const holder = await driver().claimOne();
      await driver().claim();
      await driver().store.cancel('a');
      expect(await driver().statusOf('b')).toBe('blocked');
      await driver().settle(holder, OUTCOMES.retry);
      expect(await driver().drain()).toEqual(['b']);
    });

    it('hands on when it is the holder, asked to cancel, and its lease runs out', async () => {
      await driver().enqueueWith(KEYS, 'a', 'b');
      await driver().claimOne({ leaseMs: SHORT_MS });
      await driver().claim();
      await driver().store.cancel('a');
      await driver().advance(PASSED_MS);
      await driver().store.reap(LONG_MS, 10);
      expect(await driver().drain()).toEqual(['b']);
    });

    it.each(['cancel', 'remove'] as const)('is passed over when it waited: %s', async (operation) => {
      await driver().enqueueWith(KEYS, 'a', 'b', 'c');
      const holder = await driver().claimOne();
      await driver().claim();
      expect(await driver().store[operation]('b')).toEqual({ kind: 'moved', from: 'blocked' });
      await driver().settle(holder, OUTCOMES.done);
      expect(await driver().drain()).toEqual(['c']);
    });

    it.each(['cancel', 'remove'] as const)('hands its reservation on: %s', async (operation) => {
      await driver().enqueueWith(KEYS, 'a', 'b', 'c');
      const holder = await driver().claimOne();
      await driver().claim();
      await driver().settle(holder, OUTCOMES.done);
      expect(await driver().store[operation]('b')).toEqual({ kind: 'moved', from: 'queued' });
      expect(await driver().statusOf('c')).toBe('queued');
      expect(await driver().drain()).toEqual(['c']);
    });

    it('frees the key for others when nobody waits', async () => {
      await driver().enqueueWith(KEYS, 'a');
      await driver().settle(await driver().claimOne(), OUTCOMES.done);
      await driver().enqueueWith(KEYS, 'b');
      expect(await driver().claimIds()).toEqual(['b']);
    });
  });

  it('gives a job that was removed and enqueued again no place of its former life', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b');
    const holder = await driver().claimOne();
    await driver().claim();
    await driver().store.remove('b');
    await driver().enqueue('b');
    expect(await driver().claimIds()).toEqual(['b']);
    await driver().settle(holder, OUTCOMES.done);
    expect(await driver().statusOf('b')).toBe('processing');
    expect(await driver().read('b')).toMatchObject({ resourceKey: undefined });
  });

  it('wakes an idle worker for the next one', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b');
    const holder = await driver().claimOne();
    await driver().claim();
    const listener = driver().store.listenForWork();
    try {
      // Whatever the enqueue left standing.
      while ((await listener.wait(30)) === 'woken');
      await driver().settle(holder, OUTCOMES.done);
      expect(await listener.wait(1_000)).toBe('woken');
    } finally {
      await listener.close();
    }
  });

  it('survives the deletion of everything about its holder that retention allows', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b');
    await driver().settle(await driver().claimOne(), OUTCOMES.done);
    await driver().store.remove('a');
    expect(await driver().drain()).toEqual(['b']);
  });
}
