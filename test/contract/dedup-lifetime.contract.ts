/** Contract: a dedup key lasts for its window, or until its job ends, or for as long as that is dead if it keeps it. */
import { describe, expect, it } from '@jest/globals';
import { LONG_MS, OUTCOMES, PASSED_MS, SHORT_MS, useStore, type ContractFactory } from './contract-store.js';
import { isOwned, payloadOf, replacing, rerunning, withDedup } from './dedup-cases.js';

export function describeDedupLifetime(factory: ContractFactory): void {
  const driver = useStore(factory);

  describe('a dead owner that keeps its key', () => {
    const bury = async () => {
      await driver().enqueue('a', withDedup({ keepWhenDead: true }));
      await driver().settle(await driver().claimOne(), OUTCOMES.dead);
    };

    it('is the answer to duplicates, replaced by nobody', async () => {
      await bury();
      expect(await driver().enqueue('b', withDedup())).toMatchObject({ jobId: 'a', status: 'dead' });
      for (const changes of [replacing(), rerunning()]) {
        expect(await driver().enqueue('b', changes)).toEqual({ jobId: 'a', status: 'dead', duplicate: true });
      }
      expect(await payloadOf(driver(), 'a')).toBe('old');
    });

    it('gives it up when it is removed', async () => {
      await bury();
      await driver().store.remove('a');
      expect(await isOwned(driver())).toBe(false);
    });

    it('gives it up when it is redriven and ends otherwise', async () => {
      await bury();
      expect(await driver().store.redrive('a')).toEqual({ kind: 'moved', from: 'dead' });
      expect(await isOwned(driver())).toBe(true);
      await driver().drain();
      expect(await isOwned(driver())).toBe(false);
    });

    it('passes it to a follow-up', async () => {
      await driver().enqueue('a', withDedup({ keepWhenDead: true }));
      const holder = await driver().claimOne();
      await driver().enqueue('b', rerunning());
      await driver().settle(holder, OUTCOMES.dead);
      expect(await driver().drain()).toEqual(['b']);
      expect(await isOwned(driver())).toBe(false);
    });

    it('keeps it when its follow-up was cancelled', async () => {
      await driver().enqueue('a', withDedup({ keepWhenDead: true }));
      const holder = await driver().claimOne();
      await driver().enqueue('b', rerunning());
      await driver().store.cancel('b');
      await driver().settle(holder, OUTCOMES.dead);
      expect(await driver().enqueue('c', withDedup())).toMatchObject({ jobId: 'a', status: 'dead' });
    });

    describe('beyond the retention', () => {
      const short = useStore(factory, { retention: { dead: { count: 1, ageMs: LONG_MS } } });
      const none = useStore(factory, { retention: { dead: { count: 0, ageMs: LONG_MS } } });

      it('gives it up when it is pruned', async () => {
        await short().enqueue('a', withDedup({ keepWhenDead: true }));
        await short().settle(await short().claimOne(), OUTCOMES.dead);
        await short().advance(2);
        await short().run('next', OUTCOMES.dead);
        await short().store.prune(10);
        expect(await short().statusOf('a')).toBe('gone');
        expect(await isOwned(short())).toBe(false);
      });

      it('keeps nothing when no dead jobs are kept', async () => {
        await none().enqueue('a', withDedup({ keepWhenDead: true }));
        await none().settle(await none().claimOne(), OUTCOMES.dead);
        expect(await isOwned(none())).toBe(false);
      });
    });
  });

  describe('a window', () => {
    it('lasts for its time and no longer, although the owner still waits', async () => {
      await driver().enqueue('a', withDedup({ windowMs: SHORT_MS }));
      expect(await driver().enqueue('b', withDedup())).toMatchObject({ jobId: 'a', duplicate: true });
      await driver().advance(PASSED_MS);
      expect(await driver().enqueue('c', withDedup())).toMatchObject({ jobId: 'c', duplicate: false });
      await driver().store.remove('a');
      expect(await isOwned(driver())).toBe(true);
    });

    it('lasts for its time although the owner has ended', async () => {
      await driver().enqueue('a', withDedup({ windowMs: LONG_MS }));
      await driver().settle(await driver().claimOne(), OUTCOMES.done);
      expect(await driver().enqueue('b', withDedup())).toMatchObject({ jobId: 'a', status: 'done' });
      for (const changes of [replacing(), rerunning()]) {
        expect(await driver().enqueue('b', changes)).toEqual({ jobId: 'a', status: 'done', duplicate: true });
      }
    });

    it('lasts for its time although the owner is gone', async () => {
      await driver().enqueue('a', withDedup({ windowMs: LONG_MS }));
      await driver().store.remove('a');
      expect(await driver().enqueue('b', withDedup())).toEqual({
        jobId: 'a',
        status: 'done',
        duplicate: true,
      });
      const refusal = await driver().enqueue('b', withDedup({ onDuplicate: 'reject' }));
      expect(refusal).toMatchObject({ refused: 'duplicate', holder: 'a' });
    });

    it('is not prolonged by duplicates', async () => {
      await driver().enqueue('a', withDedup({ windowMs: SHORT_MS }));
      await driver().advance(SHORT_MS / 2);
      await driver().enqueue('b', withDedup({ windowMs: LONG_MS, onDuplicate: 'replace' }));
      await driver().advance(PASSED_MS - SHORT_MS / 2);
      expect(await isOwned(driver())).toBe(false);
    });

    it('keeps no follow-up: it ends by time, not with the job', async () => {
      await driver().enqueue('a', withDedup({ windowMs: LONG_MS }));
      await driver().claimOne();
      expect(await driver().enqueue('b', rerunning())).toEqual({
        ...{ jobId: 'a', status: 'processing', duplicate: true },
      });
    });

    it('lets its own job be redriven, which then owns the key until it ends', async () => {
      await driver().enqueue('a', withDedup({ windowMs: SHORT_MS }));
      await driver().settle(await driver().claimOne(), OUTCOMES.dead);
      await driver().advance(PASSED_MS);
      await driver().store.redrive('a');
      expect(await isOwned(driver())).toBe(true);
      await driver().drain();
      expect(await isOwned(driver())).toBe(false);
    });
  });
}
