/** Contract: a dedup key belongs to one job, and the others are answered with it or refused. */
import { describe, expect, it } from '@jest/globals';
import {
  LONG_MS,
  newJob,
  once,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  useStore,
  type ContractFactory,
} from './contract-store.js';
import { isOwned, KEY, NEW, payloadOf, withDedup } from './dedup-cases.js';

export function describeDedup(factory: ContractFactory): void {
  const driver = useStore(factory);

  describe('onDuplicate: return', () => {
    it('answers the owner instead of storing the job', async () => {
      await driver().enqueue('a', withDedup());
      expect(await driver().enqueue('b', withDedup({}, { spec: NEW }))).toEqual({
        ...{ jobId: 'a', status: 'queued', duplicate: true },
      });
      expect(await driver().statusOf('b')).toBe('gone');
      expect(await payloadOf(driver(), 'a')).toBe('old');
      expect(await driver().read('a')).toMatchObject({ dedupKey: KEY });
      expect(await driver().lifetime()).toMatchObject({ enqueued: 1, duplicates: 1 });
    });

    it('answers the status that the owner has by now', async () => {
      await driver().enqueue('a', withDedup({}, { delayMs: SHORT_MS }));
      expect(await driver().enqueue('b', withDedup())).toMatchObject({ jobId: 'a', status: 'scheduled' });
      await driver().advance(PASSED_MS);
      const holder = await driver().claimOne();
      expect(await driver().enqueue('b', withDedup())).toMatchObject({ jobId: 'a', status: 'processing' });
      await driver().settle(holder, OUTCOMES.retry);
      expect(await driver().enqueue('b', withDedup())).toMatchObject({ jobId: 'a', status: 'retrying' });
    });

    it('finds duplicates within one call', async () => {
      const replies = await driver().store.enqueue([
        newJob('a', withDedup()),
        newJob('b', withDedup()),
        newJob('c'),
      ]);
      expect(replies).toMatchObject([
        { jobId: 'a', duplicate: false },
        { jobId: 'a', duplicate: true },
        { jobId: 'c', duplicate: false },
      ]);
      expect(await driver().claimIds()).toEqual(['a', 'c']);
    });

    it('answers a job that is enqueued again with itself', async () => {
      await driver().enqueue('a', withDedup());
      await driver().settle(await driver().claimOne(), OUTCOMES.done);
      await driver().enqueue('b', withDedup());
      expect(await driver().enqueue('a', withDedup())).toMatchObject({ jobId: 'a', status: 'done' });
    });

    it('does not count a duplicate among those that wait for an operation', async () => {
      const keys = { idempotency: once('k') };
      await driver().enqueue('a', withDedup({}, { keys }));
      await driver().enqueue('b', withDedup({}, { keys }));
      await driver().store.cancel('a');
      const other = { keys: { idempotency: once('k', { fingerprint: 'other' }) } };
      expect(await driver().enqueue('c', other)).toMatchObject({ status: 'queued' });
    });
  });

  describe('onDuplicate: reject', () => {
    it('refuses the job and names the owner', async () => {
      await driver().enqueue('a', withDedup());
      expect(await driver().enqueue('b', withDedup({ onDuplicate: 'reject' }))).toEqual({
        ...{ jobId: 'b', refused: 'duplicate', holder: 'a' },
      });
      expect(await driver().statusOf('b')).toBe('gone');
      expect(await driver().lifetime()).toMatchObject({ enqueued: 1, duplicates: 1 });
    });
  });

  describe('the end of the owner', () => {
    const ENDS: Readonly<Record<string, () => Promise<unknown>>> = {
      'settled done': async () => driver().settle(await driver().claimOne(), OUTCOMES.done),
      'settled dead': async () => driver().settle(await driver().claimOne(), OUTCOMES.dead),
      'settled cancelled': async () => driver().settle(await driver().claimOne(), OUTCOMES.cancelled),
      'cancelled while queued': () => driver().store.cancel('a'),
      removed: () => driver().store.remove('a'),
      'cancelled by its settle': async () => {
        const holder = await driver().claimOne();
        await driver().store.cancel('a');
        await driver().settle(holder, OUTCOMES.retry);
      },
      'cancelled by the reaper': async () => {
        await driver().claimOne({ leaseMs: SHORT_MS });
        await driver().store.cancel('a');
        await driver().advance(PASSED_MS);
        await driver().store.reap(LONG_MS, 10);
      },
    };

    it.each(Object.entries(ENDS))('frees the key: %s', async (_name, end) => {
      await driver().enqueue('a', withDedup());
      await end();
      expect(await isOwned(driver())).toBe(false);
    });

    it('frees the key of a replayed job', async () => {
      await driver().enqueueWith({ idempotency: once('k') }, 'first');
      await driver().enqueue('a', withDedup({}, { keys: { idempotency: once('k') } }));
      await driver().drain();
      expect(await driver().read('a')).toMatchObject({ status: 'done', attempt: 0 });
      expect(await isOwned(driver())).toBe(false);
    });

    it.each([OUTCOMES.retry, OUTCOMES.release, OUTCOMES.snooze])(
      'is not there yet when it settles as $kind',
      async (outcome) => {
        await driver().enqueue('a', withDedup());
        await driver().settle(await driver().claimOne(), outcome);
        expect(await isOwned(driver())).toBe(true);
      },
    );

    it('is not there yet when its lease runs out', async () => {
      await driver().enqueue('a', withDedup());
      await driver().claimOne({ leaseMs: SHORT_MS });
      await driver().advance(PASSED_MS);
      await driver().store.reap(LONG_MS, 10);
      expect(await isOwned(driver())).toBe(true);
    });
  });

  describe('a job that is not the owner any more', () => {
    it.each([
      ['removed', () => driver().store.remove('a')],
      ['refused a redrive', () => driver().store.redrive('a')],
    ] as const)('never frees the key of a newer one: %s', async (_name, act) => {
      await driver().enqueue('a', withDedup());
      await driver().settle(await driver().claimOne(), OUTCOMES.dead);
      await driver().enqueue('b', withDedup());
      await act();
      expect(await driver().enqueue('c', withDedup())).toMatchObject({ jobId: 'b', duplicate: true });
    });

    it('is not redriven while a newer one owns the key', async () => {
      await driver().enqueue('a', withDedup());
      await driver().settle(await driver().claimOne(), OUTCOMES.dead);
      await driver().enqueue('b', withDedup());
      expect(await driver().store.redrive('a')).toEqual({ kind: 'key_taken', key: 'dedup', holder: 'b' });
      expect(await driver().read('a')).toMatchObject({ status: 'dead', redriveCount: 0 });

      await driver().settle(await driver().claimOne(), OUTCOMES.done);
      expect(await driver().store.redrive('a')).toEqual({ kind: 'moved', from: 'dead' });
      expect(await driver().enqueue('c', withDedup())).toMatchObject({ jobId: 'a', duplicate: true });
    });
  });
}
