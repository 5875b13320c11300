/** Contract: what operators do to jobs and to the queue. */
import { describe, expect, it } from '@jest/globals';
import { LONG_MS, OUTCOMES, PASSED_MS, SHORT_MS, useStore, type ContractFactory } from './contract-store.js';

export function describeAdmin(factory: ContractFactory): void {
  const driver = useStore(factory);

  describe('redrive', () => {
    it('gives a dead job all its attempts again and keeps its history', async () => {
      await driver().run('a', { ...OUTCOMES.retry, delayMs: 0 });
      await driver().settle(await driver().claimOne(), OUTCOMES.dead);
      const dead = await driver().read('a');
      expect(dead).toMatchObject({ attempt: 2, redriveCount: 0, attemptsBeforeRedrive: 0 });

      expect(await driver().store.redrive('a')).toEqual({ kind: 'moved', from: 'dead' });

      expect(await driver().read('a')).toMatchObject({
        status: 'queued',
        attempt: 0,
        redriveCount: 1,
        attemptsBeforeRedrive: 2,
        deadReason: undefined,
        error: dead.error,
        spec: dead.spec,
      });
      expect(await driver().idsOf('dead')).toEqual([]);
      expect(await driver().lifetime()).toMatchObject({ redriven: 1, dead: 1 });
      expect(await driver().claimOne()).toMatchObject({ jobId: 'a', attempt: 1 });
    });

    it('adds up over several of them', async () => {
      await driver().run('a', OUTCOMES.dead);
      await driver().store.redrive('a');
      await driver().settle(await driver().claimOne(), { ...OUTCOMES.retry, delayMs: 0 });
      await driver().settle(await driver().claimOne(), OUTCOMES.dead);
      await driver().store.redrive('a');
      expect(await driver().read('a')).toMatchObject({
        attempt: 0,
        redriveCount: 2,
        attemptsBeforeRedrive: 3,
      });
    });

    it('puts the job at the tail of its priority', async () => {
      await driver().enqueue('a', { priority: 2 });
      await driver().settle(await driver().claimOne(), OUTCOMES.dead);
      await driver().enqueue('b', { priority: 2 });
      await driver().enqueue('c');
      await driver().store.redrive('a');
      expect(await driver().claimIds()).toEqual(['b', 'a', 'c']);
    });
  });

  describe('remove', () => {
    it('leaves nothing of the job', async () => {
      await driver().enqueue('a', { priority: 1 });
      const claimed = await driver().claimOne();
      await driver().store.writeCheckpoint('a', claimed.token, '1');
      await driver().settle(claimed, OUTCOMES.dead);
      expect(await driver().store.remove('a')).toEqual({ kind: 'moved', from: 'dead' });

      expect(await driver().find('a')).toBeUndefined();
      expect(await driver().store.readCheckpoint('a')).toBeUndefined();
      expect(await driver().counts()).toEqual({});
      await driver().enqueue('fresh', { delayMs: LONG_MS });
      await driver().enqueue('a', { delayMs: LONG_MS });
      const [a, fresh] = await driver().store.read(['a', 'fresh']);
      expect({ ...a, id: '', spec: '', dueAt: 0 }).toEqual({ ...fresh, id: '', spec: '', dueAt: 0 });
    });
  });

  describe('pause', () => {
    it('claims nothing until it is resumed', async () => {
      await driver().enqueueAll('a', 'b');
      await driver().store.pause();
      await driver().store.pause();

      expect(await driver().exchange({ claimMax: 5 })).toMatchObject({
        claimed: [],
        blocked: [],
        replayed: [],
        more: false,
        nextDueInMs: undefined,
      });
      expect(await driver().store.snapshot()).toMatchObject({ paused: true, counts: { queued: 2 } });

      await driver().store.resume();
      expect(await driver().store.snapshot()).toMatchObject({ paused: false });
      expect(await driver().claimIds()).toEqual(['a', 'b']);
    });

    it('lets everything else go on', async () => {
      await driver().enqueueAll('a', 'b');
      const [a, b] = await driver().claim(2, { leaseMs: SHORT_MS });
      if (!a || !b) throw new Error('two jobs were ready');
      await driver().store.pause();

      expect(await driver().enqueue('c')).toMatchObject({ status: 'queued' });
      await driver().enqueue('d', { delayMs: SHORT_MS });
      expect(await driver().settle(a, OUTCOMES.done)).toMatchObject({ applied: true });
      await driver().advance(PASSED_MS);
      expect(await driver().store.promote(10)).toEqual({ promoted: 1, more: false });
      expect((await driver().store.reap(LONG_MS, 10)).reaped).toHaveLength(1);
      expect(await driver().counts()).toEqual({ done: 1, queued: 3 });
    });

    it('resumes a queue that is not paused', async () => {
      await driver().store.resume();
      expect(await driver().store.snapshot()).toMatchObject({ paused: false });
    });
  });

  describe('promote', () => {
    it('moves due scheduled and retrying jobs to the tail and leaves the others', async () => {
      await driver().run('retrying', { ...OUTCOMES.retry, delayMs: SHORT_MS });
      await driver().run('snoozed', { ...OUTCOMES.snooze, delayMs: SHORT_MS });
      await driver().enqueue('scheduled', { delayMs: SHORT_MS });
      await driver().enqueue('later', { delayMs: LONG_MS });
      await driver().advance(PASSED_MS);
      await driver().enqueue('ready');

      expect(await driver().store.promote(10)).toEqual({ promoted: 3, more: false });

      expect(await driver().counts()).toEqual({ scheduled: 1, queued: 4 });
      const [first, ...promoted] = await driver().claimIds();
      expect(first).toBe('ready');
      expect(promoted.toSorted()).toEqual(['retrying', 'scheduled', 'snoozed']);
      expect(await driver().read('retrying')).toMatchObject({ attempt: 2, dueAt: undefined });
    });

    it('moves those that are due first, up to the limit, and says whether more are due', async () => {
      await driver().enqueue('a', { delayMs: SHORT_MS / 2 });
      await driver().enqueue('b', { delayMs: SHORT_MS });
      await driver().enqueue('c', { delayMs: SHORT_MS });
      await driver().advance(PASSED_MS);
      expect(await driver().store.promote(2)).toEqual({ promoted: 2, more: true });
      expect(await driver().idsOf('queued')).toContain('a');
      expect(await driver().store.promote(2)).toEqual({ promoted: 1, more: false });
      expect(await driver().counts()).toEqual({ queued: 3 });
    });
  });

  it('reads jobs in the order asked for, and says which do not exist', async () => {
    await driver().enqueueAll('a', 'b');
    const records = await driver().store.read(['b', 'nobody', 'a', 'b']);
    expect(records.map((record) => record?.id)).toEqual(['b', undefined, 'a', 'b']);
    expect(await driver().store.read([])).toEqual([]);
  });
}
