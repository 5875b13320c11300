/** Contract: while the owner of a dedup key runs, one follow-up with the newest spec waits for its end. */
import { describe, expect, it } from '@jest/globals';
import { ERROR, LONG_MS, once, OUTCOMES, useStore, type ContractFactory } from './contract-store.js';
import { isOwned, KEY, OLD, payloadOf, rerunning, withDedup } from './dedup-cases.js';

export function describeDedupRerun(factory: ContractFactory): void {
  const driver = useStore(factory);

  describe('onDuplicate: rerun', () => {
    it('replaces an owner that does not run yet', async () => {
      await driver().enqueue('a', withDedup());
      expect(await driver().enqueue('b', rerunning())).toMatchObject({ jobId: 'a', replaced: true });
      expect(await driver().drain()).toEqual(['a']);
    });

    it('keeps one follow-up with the newest spec while the owner runs', async () => {
      await driver().enqueue('a', withDedup());
      const holder = await driver().claimOne();

      expect(await driver().enqueue('b', rerunning({ spec: OLD, priority: 2 }))).toEqual({
        ...{ jobId: 'b', status: 'blocked', duplicate: false },
      });
      expect(await driver().enqueue('c', rerunning({ delayMs: LONG_MS }))).toEqual({
        ...{ jobId: 'b', status: 'blocked', duplicate: true, replaced: true },
      });

      expect(await driver().read('b')).toMatchObject({ blockedOn: `dedup:${KEY}`, priority: 2, attempt: 0 });
      expect(await payloadOf(driver(), 'b')).toBe('new');
      expect(await driver().counts()).toEqual({ processing: 1, blocked: 1 });
      expect(await driver().lifetime()).toMatchObject({ enqueued: 2, replaced: 1 });
      expect(await driver().claim()).toEqual([]);

      await driver().settle(holder, OUTCOMES.done);
      expect(await driver().read('b')).toMatchObject({ status: 'queued', blockedOn: undefined });
      expect(await driver().enqueue('d', withDedup())).toMatchObject({ jobId: 'b', duplicate: true });
      expect(await driver().drain()).toEqual(['b']);
      expect(await isOwned(driver())).toBe(false);
    });

    it.each([OUTCOMES.done, OUTCOMES.dead, OUTCOMES.cancelled])(
      'queues the follow-up at the head when the owner ends as $kind',
      async (outcome) => {
        await driver().enqueue('a', withDedup());
        const holder = await driver().claimOne();
        await driver().enqueue('b', rerunning());
        await driver().enqueue('free');
        await driver().settle(holder, outcome);
        expect(await driver().drain()).toEqual(['b', 'free']);
      },
    );

    it('queues it when the owner is cancelled while it waits for its retry', async () => {
      await driver().enqueue('a', withDedup());
      const holder = await driver().claimOne();
      await driver().enqueue('b', rerunning());
      await driver().settle(holder, OUTCOMES.retry);
      expect(await driver().statusOf('b')).toBe('blocked');
      await driver().store.cancel('a');
      expect(await driver().drain()).toEqual(['b']);
    });

    it('replaces the spec of the owner, and not the follow-up’s, when the owner waits again', async () => {
      await driver().enqueue('a', withDedup());
      const holder = await driver().claimOne();
      await driver().enqueue('b', rerunning({ spec: OLD }));
      await driver().settle(holder, { kind: 'retry', delayMs: LONG_MS, error: ERROR });
      expect(await driver().enqueue('c', rerunning())).toMatchObject({ jobId: 'a', status: 'retrying' });
      expect(await payloadOf(driver(), 'a')).toBe('new');
    });

    it('has a follow-up of the follow-up', async () => {
      await driver().enqueue('a', withDedup());
      const first = await driver().claimOne();
      await driver().enqueue('b', rerunning());
      await driver().settle(first, OUTCOMES.done);
      const second = await driver().claimOne();
      expect(second.jobId).toBe('b');
      expect(await driver().enqueue('c', rerunning())).toMatchObject({ jobId: 'c', status: 'blocked' });
      await driver().settle(second, OUTCOMES.done);
      expect(await driver().drain()).toEqual(['c']);
    });

    it.each(['cancel', 'remove'] as const)('takes another follow-up after: %s', async (operation) => {
      await driver().enqueue('a', withDedup());
      const holder = await driver().claimOne();
      await driver().enqueue('b', rerunning());
      await driver().store[operation]('b');
      expect(await driver().enqueue('c', rerunning())).toMatchObject({ jobId: 'c', status: 'blocked' });
      await driver().settle(holder, OUTCOMES.done);
      expect(await driver().drain()).toEqual(['c']);
      expect(await isOwned(driver())).toBe(false);
    });

    it.each(['cancel', 'remove'] as const)(
      'frees the key when there is none left after: %s',
      async (operation) => {
        await driver().enqueue('a', withDedup());
        const holder = await driver().claimOne();
        await driver().enqueue('b', rerunning());
        await driver().store[operation]('b');
        expect(await isOwned(driver())).toBe(true);
        await driver().settle(holder, OUTCOMES.done);
        expect(await isOwned(driver())).toBe(false);
      },
    );

    it('waits for its other keys when the owner has ended', async () => {
      await driver().enqueue('a', withDedup({}, { keys: { resource: 'r' } }));
      const owner = await driver().claimOne();
      await driver().enqueueWith({ resource: 'r' }, 'next');
      await driver().claim();
      await driver().enqueue('b', rerunning({ keys: { resource: 'r' } }));
      await driver().settle(owner, OUTCOMES.done);
      expect(await driver().exchange({ claimMax: 10 })).toMatchObject({
        ...{ claimed: [{ jobId: 'next' }], blocked: ['b'] },
      });
      expect(await driver().read('b')).toMatchObject({ blockedOn: 'resource:r' });
    });

    it('refuses a follow-up whose operation stands for another payload', async () => {
      const about = (fingerprint: string) => ({ keys: { idempotency: once('k', { fingerprint }) } });
      await driver().enqueue('a', withDedup({}, about('1')));
      await driver().claimOne();
      expect(await driver().enqueue('b', rerunning(about('2')))).toEqual({
        ...{ jobId: 'b', refused: 'idempotency_conflict', holder: undefined },
      });
      expect(await driver().enqueue('b', rerunning(about('1')))).toMatchObject({
        jobId: 'b',
        status: 'blocked',
      });
      expect(await driver().enqueue('c', rerunning(about('2')))).toEqual({
        ...{ jobId: 'c', refused: 'idempotency_conflict', holder: 'b' },
      });
    });
  });
}
