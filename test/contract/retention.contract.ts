/** Contract: how long ended jobs are kept. */
import { describe, expect, it } from '@jest/globals';
import { LONG_MS, OUTCOMES, PASSED_MS, SHORT_MS, useStore, type ContractFactory } from './contract-store.js';

const DAY_MS = 86_400_000;

export function describeRetention(factory: ContractFactory): void {
  describe('of nothing', () => {
    const none = { count: 0, ageMs: DAY_MS };
    const driver = useStore(factory, { retention: { done: none, dead: none, cancelled: none } });

    it.each([OUTCOMES.done, OUTCOMES.dead, OUTCOMES.cancelled])(
      'deletes a job at once when it ends as $kind',
      async (outcome) => {
        await driver().enqueue('a');
        const claimed = await driver().claimOne();
        await driver().store.writeCheckpoint('a', claimed.token, '1');

        expect(await driver().settle(claimed, outcome)).toEqual({ applied: true, status: outcome.kind });

        expect(await driver().find('a')).toBeUndefined();
        expect(await driver().store.readCheckpoint('a')).toBeUndefined();
        expect(await driver().counts()).toEqual({});
        expect(await driver().lifetime()).toMatchObject({ [outcome.kind]: 1 });
        expect(await driver().enqueue('a')).toMatchObject({ duplicate: false });
        expect(await driver().read('a')).toMatchObject({
          status: 'queued',
          attempt: 0,
          result: undefined,
          error: undefined,
        });
      },
    );

    it('refuses the second of two settlements of a job in one call', async () => {
      await driver().enqueue('a');
      const { jobId, token } = await driver().claimOne();
      const settlement = { jobId, token, outcome: OUTCOMES.done };
      const { settled } = await driver().exchange({ settlements: [settlement, settlement] });
      expect(settled).toEqual([
        { applied: true, status: 'done' },
        { applied: false, status: undefined, holder: undefined },
      ]);
      expect(await driver().lifetime()).toMatchObject({ done: 1, stale_refused: 1 });
    });

    it('deletes a job at once when it is cancelled', async () => {
      await driver().enqueue('a');
      expect(await driver().store.cancel('a')).toEqual({ kind: 'moved', from: 'queued' });
      expect(await driver().find('a')).toBeUndefined();
      expect(await driver().counts()).toEqual({});
      expect(await driver().claim()).toEqual([]);
    });

    it('deletes a job at once when the reaper cancels it', async () => {
      await driver().enqueue('a');
      await driver().claimOne({ leaseMs: SHORT_MS });
      await driver().store.cancel('a');
      await driver().advance(PASSED_MS);
      const { reaped } = await driver().store.reap(LONG_MS, 10);
      expect(reaped).toMatchObject([{ jobId: 'a', status: 'cancelled' }]);
      expect(await driver().find('a')).toBeUndefined();
      expect(await driver().counts()).toEqual({});
    });

    it('refuses what the worker says of a job that is gone', async () => {
      const claimed = await driver().run('a', OUTCOMES.done);
      expect(await driver().settle(claimed, OUTCOMES.done)).toEqual({
        applied: false,
        status: undefined,
        holder: undefined,
      });
    });
  });

  describe('of a few', () => {
    const few = { count: 3, ageMs: DAY_MS };
    const driver = useStore(factory, { retention: { done: few, cancelled: few } });

    it('deletes as jobs end, those that ended first', async () => {
      for (const batch of [0, 1, 2]) {
        await driver().enqueueAll(...Array.from({ length: 4 }, (_, i) => `${batch}-${i}`));
        const claimed = await driver().claim();
        await driver().exchange({
          settlements: claimed.map(({ jobId, token }) => ({ jobId, token, outcome: OUTCOMES.done })),
        });
        await driver().advance(5);
      }
      const kept = await driver().idsOf('done');
      expect(kept).toHaveLength(3);
      expect(kept.every((id) => id.startsWith('2-'))).toBe(true);
      expect(await driver().find('0-0')).toBeUndefined();
      expect(await driver().lifetime()).toMatchObject({ done: 12 });
    });

    it('prunes what is left over, up to the limit', async () => {
      const ids = ['a', 'b', 'c', 'd', 'e', 'f'];
      await driver().enqueueAll(...ids);
      for (const id of ids) {
        await driver().store.cancel(id);
        await driver().advance(5);
      }
      expect(await driver().store.prune(2)).toBe(2);
      expect(await driver().store.prune(10)).toBe(1);
      expect(await driver().store.prune(10)).toBe(0);
      expect(await driver().idsOf('cancelled')).toEqual(['d', 'e', 'f']);
      expect(await driver().find('a')).toBeUndefined();
    });
  });

  describe('by age', () => {
    const short = { count: 1_000, ageMs: SHORT_MS };
    const driver = useStore(factory, { retention: { done: short, cancelled: short } });

    it('prunes what is too old, with everything stored of it', async () => {
      await driver().enqueue('done');
      const claimed = await driver().claimOne();
      await driver().store.writeCheckpoint('done', claimed.token, '1');
      await driver().settle(claimed, OUTCOMES.done);
      await driver().run('cancelled', OUTCOMES.cancelled);
      await driver().run('dead', OUTCOMES.dead);
      await driver().advance(PASSED_MS);

      expect(await driver().store.prune(1)).toBe(1);
      expect(await driver().store.prune(10)).toBe(1);
      expect(await driver().store.prune(10)).toBe(0);

      expect(await driver().counts()).toEqual({ dead: 1 });
      expect(await driver().store.readCheckpoint('done')).toBeUndefined();
      expect(await driver().enqueue('done')).toMatchObject({ duplicate: false });
      expect(await driver().read('done')).toMatchObject({ attempt: 0, result: undefined, token: undefined });
    });

    it('never prunes a job that is pending', async () => {
      await driver().enqueue('queued');
      await driver().enqueue('scheduled', { delayMs: LONG_MS });
      await driver().advance(PASSED_MS);
      expect(await driver().store.prune(10)).toBe(0);
      expect(await driver().counts()).toEqual({ queued: 1, scheduled: 1 });
    });
  });

  describe('of plenty', () => {
    const driver = useStore(factory);

    it('prunes nothing', async () => {
      await driver().run('a', OUTCOMES.done);
      await driver().run('b', OUTCOMES.dead);
      expect(await driver().store.prune(10)).toBe(0);
      expect(await driver().counts()).toEqual({ done: 1, dead: 1 });
    });
  });
}
