/** Contract: a duplicate can give the owner of its dedup key a newer spec and another delay, and nothing else. */
import { describe, expect, it } from '@jest/globals';
import {
  LONG_MS,
  once,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  useStore,
  type ContractFactory,
} from './contract-store.js';
import { KEY, payloadOf, replacing, withDedup } from './dedup-cases.js';

export function describeDedupReplace(factory: ContractFactory): void {
  const driver = useStore(factory);

  describe('onDuplicate: replace', () => {
    it('gives the owner the new spec and keeps its age, place, priority and keys', async () => {
      await driver().enqueue('a', withDedup({}, { priority: 3, keys: { resource: 'r' } }));
      const { spec: before = '' } = await driver().read('a');
      await driver().advance(5);
      await driver().enqueue('behind', { priority: 3 });

      expect(await driver().enqueue('b', replacing({ priority: 9, keys: { resource: 'other' } }))).toEqual({
        ...{ jobId: 'a', status: 'queued', duplicate: true, replaced: true },
      });

      const { spec = '' } = await driver().read('a');
      expect(spec).toBe(before.replace('"old"', '"new"'));
      expect(await driver().read('a')).toMatchObject({ priority: 3, resourceKey: 'r', dedupKey: KEY });
      expect(await driver().claim()).toMatchObject([{ jobId: 'a', spec }, { jobId: 'behind' }]);
      expect(await driver().lifetime()).toMatchObject({ enqueued: 2, duplicates: 0, replaced: 1 });
    });

    it('restarts the delay of a scheduled owner', async () => {
      await driver().enqueue('a', withDedup({}, { delayMs: SHORT_MS }));
      const { dueAt = 0 } = await driver().read('a');
      expect(await driver().enqueue('b', replacing({ delayMs: LONG_MS }))).toMatchObject({
        ...{ jobId: 'a', status: 'scheduled', replaced: true },
      });
      expect((await driver().read('a')).dueAt).toBeGreaterThan(dueAt);
      await driver().advance(PASSED_MS);
      expect(await driver().claim()).toEqual([]);
    });

    it('queues a scheduled owner at the tail when no delay is asked for', async () => {
      await driver().enqueue('a', withDedup({}, { delayMs: LONG_MS }));
      await driver().enqueue('first');
      expect(await driver().enqueue('b', replacing())).toMatchObject({ jobId: 'a', status: 'queued' });
      expect(await driver().read('a')).toMatchObject({ dueAt: undefined });
      expect(await driver().claimIds()).toEqual(['first', 'a']);
    });

    it('schedules a queued owner that gets a delay, and hands on what was reserved for it', async () => {
      await driver().enqueueWith({ resource: 'r' }, 'holder');
      await driver().enqueue('a', withDedup({}, { keys: { resource: 'r' } }));
      await driver().enqueueWith({ resource: 'r' }, 'next');
      const [holder] = await driver().claim();
      if (holder) await driver().settle(holder, OUTCOMES.done);
      expect(await driver().statusOf('a')).toBe('queued');

      expect(await driver().enqueue('b', replacing({ delayMs: SHORT_MS }))).toMatchObject({
        ...{ jobId: 'a', status: 'scheduled' },
      });
      expect(await driver().whereListed('a')).toEqual(['scheduled']);
      expect(await driver().counts()).toEqual({ done: 1, scheduled: 1, queued: 1 });
      expect(await driver().drain()).toEqual(['next']);
      await driver().advance(PASSED_MS);
      expect(await driver().drain()).toEqual(['a']);
    });

    it('keeps the place of a blocked owner, unless it gets a delay', async () => {
      await driver().enqueueWith({ resource: 'r' }, 'holder');
      await driver().enqueue('a', withDedup({}, { keys: { resource: 'r' } }));
      await driver().enqueueWith({ resource: 'r' }, 'next');
      const [holder] = await driver().claim();
      expect(await driver().enqueue('b', replacing())).toMatchObject({ jobId: 'a', status: 'blocked' });
      expect(await payloadOf(driver(), 'a')).toBe('new');

      expect(await driver().enqueue('b', replacing({ delayMs: SHORT_MS }))).toMatchObject({
        ...{ jobId: 'a', status: 'scheduled' },
      });
      expect(await driver().read('a')).toMatchObject({ blockedOn: undefined });
      expect(await driver().whereListed('a')).toEqual(['scheduled']);
      if (holder) await driver().settle(holder, OUTCOMES.done);
      expect(await driver().drain()).toEqual(['next']);
    });

    it('keeps the backoff of a retrying owner', async () => {
      await driver().enqueue('a', withDedup());
      await driver().settle(await driver().claimOne(), OUTCOMES.retry);
      const before = await driver().read('a');
      for (const delayMs of [0, SHORT_MS]) {
        expect(await driver().enqueue('b', replacing({ delayMs }))).toMatchObject({
          ...{ jobId: 'a', status: 'retrying', replaced: true },
        });
      }
      expect(await driver().read('a')).toMatchObject({
        dueAt: before.dueAt,
        attempt: 1,
        error: before.error,
      });
      expect(await payloadOf(driver(), 'a')).toBe('new');
    });

    it('leaves an owner alone that is processing', async () => {
      await driver().enqueue('a', withDedup());
      await driver().claimOne();
      expect(await driver().enqueue('b', replacing())).toEqual({
        ...{ jobId: 'a', status: 'processing', duplicate: true },
      });
      expect(await payloadOf(driver(), 'a')).toBe('old');
      expect(await driver().lifetime()).toMatchObject({ duplicates: 1, replaced: 0 });
    });

    it.each(['replace', 'rerun'] as const)(
      'never turns a job into one of another type: %s',
      async (onDuplicate) => {
        await driver().enqueue('a', withDedup());
        expect(await driver().enqueue('b', withDedup({ onDuplicate, type: 'other' }))).toEqual({
          ...{ jobId: 'b', refused: 'dedup_type', holder: 'a' },
        });
        expect(await payloadOf(driver(), 'a')).toBe('old');
      },
    );

    it('changes what an operation is about only while it is nobody else’s', async () => {
      const about = (fingerprint: string) => ({ keys: { idempotency: once('k', { fingerprint }) } });
      await driver().enqueue('a', withDedup({}, about('1')));
      expect(await driver().enqueue('b', replacing(about('2')))).toMatchObject({
        jobId: 'a',
        replaced: true,
      });
      expect(await driver().enqueue('c', about('1'))).toMatchObject({ refused: 'idempotency_conflict' });
      expect(await driver().enqueue('c', about('2'))).toMatchObject({ status: 'queued' });

      expect(await driver().enqueue('d', replacing(about('3')))).toEqual({
        ...{ jobId: 'd', refused: 'idempotency_conflict', holder: 'a' },
      });
      expect(await driver().enqueue('d', replacing())).toMatchObject({ refused: 'idempotency_conflict' });
      await driver().store.remove('c');
      expect(await driver().enqueue('d', replacing(about('3')))).toMatchObject({ replaced: true });
    });

    it('lets a job that was replaced and died be redriven with what it is about now', async () => {
      const about = (fingerprint: string) => ({ keys: { idempotency: once('k', { fingerprint }) } });
      await driver().enqueue('a', withDedup({}, about('1')));
      await driver().enqueue('b', replacing(about('2')));
      await driver().settle(await driver().claimOne(), OUTCOMES.dead);
      await driver().store.redrive('a');
      expect(await driver().enqueue('c', about('1'))).toMatchObject({ refused: 'idempotency_conflict' });
    });
  });
}
