/** Contract: jobs with several keys take them together or not at all, and whoever leaves hands on all of them. */
import { describe, expect, it } from '@jest/globals';
import type { JobKeys } from '#lib/store/new-job.js';
import {
  LONG_MS,
  once,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  unique,
  useStore,
  type ContractFactory,
} from './contract-store.js';

const RESOURCE: JobKeys = { resource: 'r' };
const OPERATION: JobKeys = { idempotency: once('i') };
const BOTH: JobKeys = { ...RESOURCE, ...OPERATION };

export function describeCombinedKeys(factory: ContractFactory): void {
  const driver = useStore(factory);

  describe('both keys', () => {
    it('are taken together', async () => {
      await driver().enqueueWith(BOTH, 'both');
      await driver().enqueueWith(RESOURCE, 'resource');
      await driver().enqueueWith(OPERATION, 'operation');
      expect(await driver().exchange({ claimMax: 10 })).toMatchObject({
        ...{ claimed: [{ jobId: 'both' }], blocked: ['resource', 'operation'] },
      });
      expect(await driver().read('resource')).toMatchObject({ blockedOn: 'resource:r' });
      expect(await driver().read('operation')).toMatchObject({ blockedOn: 'idempotency:i' });
    });

    it.each([
      ['the resource', RESOURCE, OPERATION, 'resource:r'],
      ['the operation', OPERATION, RESOURCE, 'idempotency:i'],
    ] as const)('are not held by halves: %s is busy', async (_name, busy, free, blockedOn) => {
      await driver().enqueueWith(busy, 'holder');
      await driver().enqueueWith(BOTH, 'both');
      await driver().enqueueWith(free, 'free');
      expect(await driver().claimIds()).toEqual(['holder', 'free']);
      expect(await driver().read('both')).toMatchObject({ status: 'blocked', blockedOn });
    });

    it('are both handed on', async () => {
      await driver().enqueueWith(BOTH, 'both');
      const holder = await driver().claimOne();
      await driver().enqueueWith(RESOURCE, 'resource');
      await driver().enqueueWith(OPERATION, 'operation');
      await driver().claim();
      await driver().settle(holder, OUTCOMES.retry);
      expect((await driver().claimIds()).toSorted()).toEqual(['operation', 'resource']);
    });

    it('make a job give up its reservation on one when it meets the other busy', async () => {
      await driver().enqueueWith(RESOURCE, 'holds-r');
      await driver().enqueueWith(BOTH, 'both');
      await driver().enqueueWith(RESOURCE, 'waits-r');
      const [holder] = await driver().claim();
      await driver().enqueueWith(OPERATION, 'holds-i');
      const [operator] = await driver().claim();
      if (!holder || !operator) throw new Error('both were ready');

      await driver().settle(holder, OUTCOMES.done);
      expect(await driver().statusOf('both')).toBe('queued');
      // It has the resource reserved, but its operation runs.
      expect(await driver().exchange({ claimMax: 10 })).toMatchObject({
        ...{ blocked: ['both'], claimed: [{ jobId: 'waits-r' }] },
      });
      expect(await driver().read('both')).toMatchObject({ blockedOn: 'idempotency:i' });

      await driver().settle(operator, OUTCOMES.dead);
      expect(await driver().exchange({ claimMax: 10 })).toMatchObject({ blocked: ['both'], claimed: [] });
      expect(await driver().read('both')).toMatchObject({ blockedOn: 'resource:r' });
    });

    it('split when the lease runs out: the resource is kept, the operation is handed on', async () => {
      await driver().enqueueWith(BOTH, 'both');
      await driver().claimOne({ leaseMs: SHORT_MS });
      await driver().enqueueWith(RESOURCE, 'resource');
      await driver().enqueueWith(OPERATION, 'operation');
      await driver().claim();
      await driver().advance(PASSED_MS);
      await driver().store.reap(LONG_MS, 10);
      expect(await driver().statusOf('resource')).toBe('blocked');
      expect(await driver().statusOf('operation')).toBe('queued');
      // `both` waits for the operation now, so it does not keep the resource either.
      const reply = await driver().exchange({ claimMax: 10 });
      expect(reply.claimed.map(({ jobId }) => jobId)).toEqual(['operation', 'resource']);
      expect(reply.blocked).toEqual(['both']);
    });

    it('of a replayed job are handed on', async () => {
      await driver().enqueueWith(OPERATION, 'first');
      const first = await driver().claimOne();
      await driver().enqueueWith(RESOURCE, 'holder');
      const holder = await driver().claimOne();
      await driver().enqueueWith(BOTH, 'both');
      await driver().enqueueWith(RESOURCE, 'next');
      await driver().claim();
      await driver().settle(first, OUTCOMES.done);
      await driver().settle(holder, OUTCOMES.done);
      // The resource is reserved for `both`, which has nothing to do any more.
      expect(await driver().exchange({ claimMax: 10 })).toMatchObject({
        ...{ replayed: ['both'], claimed: [{ jobId: 'next' }] },
      });
    });

    it('are not handed around between jobs that each have one of them reserved', async () => {
      await driver().enqueueWith(OPERATION, 'holds-i');
      const [operator] = await driver().claim();
      await driver().enqueueWith(BOTH, 'waits-i');
      await driver().claim();
      await driver().enqueueWith(RESOURCE, 'holds-r');
      const [holder] = await driver().claim();
      await driver().enqueueWith(BOTH, 'waits-r', 'waits-r-too');
      await driver().claim();
      if (!operator || !holder) throw new Error('both were ready');
      await driver().settle(operator, OUTCOMES.dead);
      await driver().settle(holder, OUTCOMES.done);

      const reply = await driver().exchange({ claimMax: 10 });
      expect(reply.claimed).toHaveLength(1);
      expect(reply.blocked.length).toBeLessThan(5);
      for (const attempt of reply.claimed) await driver().settle(attempt, OUTCOMES.retry);
      expect(await driver().drain()).toHaveLength(1);
      expect(await driver().counts()).toEqual({ done: 3, dead: 1, retrying: 1 });
    });

    it.each(['cancel', 'remove'] as const)(
      'pass on from a job that keeps the one while it waits for the other: %s',
      async (operation) => {
        await driver().enqueueWith(OPERATION, 'holds-i');
        const [operator] = await driver().claim();
        await driver().enqueueWith(OPERATION, 'next-i');
        await driver().claim();
        await driver().enqueueWith(RESOURCE, 'holds-r');
        const [holder] = await driver().claim();
        await driver().enqueueWith(BOTH, 'both');
        await driver().enqueueWith(RESOURCE, 'next-r');
        await driver().claim();
        if (!operator || !holder) throw new Error('both were ready');
        await driver().settle(operator, OUTCOMES.dead);
        // Now the one has the operation reserved and the other the resource, and stands in front.
        await driver().settle(holder, OUTCOMES.done);
        expect(await driver().idsOf('queued')).toEqual(['both', 'next-i']);
        expect(await driver().claimIds(1)).toEqual(['next-i']);
        expect(await driver().read('both')).toMatchObject({ blockedOn: 'idempotency:i' });
        expect(await driver().statusOf('next-r')).toBe('blocked');

        await driver().store[operation]('both');
        expect(await driver().claimIds()).toEqual(['next-r']);
      },
    );

    it('never lock two jobs against each other that need the same ones', async () => {
      await driver().enqueueWith({ resource: 'x', idempotency: once('y') }, 'a', 'b');
      await driver().enqueueWith({ resource: 'y', idempotency: once('x') }, 'c', 'd');
      await driver().enqueueWith({ resource: 'x', idempotency: once('x') }, 'e');
      await driver().enqueueWith({ resource: 'y', idempotency: once('y') }, 'f');
      await driver().drain();
      expect(await driver().counts()).toEqual({ done: 6 });
    });
  });

  describe('a chain of waiters', () => {
    const LEAVING = ['cancel', 'remove'] as const;

    it.each([
      ['resource', RESOURCE],
      ['idempotency', OPERATION],
      ['both', BOTH],
    ] as const)('goes on whoever leaves it: %s', async (_name, keys) => {
      for (const operation of LEAVING) {
        const id = (name: string) => `${operation}-${name}`;
        await driver().enqueueWith(keys, ...['holder', 'b', 'c', 'd', 'e', 'f'].map(id));
        const holder = await driver().claimOne();
        await driver().claim();
        // One in the middle while it waits, then the holder fails, then the one it was handed to.
        await driver().store[operation](id('c'));
        await driver().settle(holder, OUTCOMES.dead);
        await driver().store[operation](id('b'));
        expect(await driver().statusOf(id('d'))).toBe('queued');
        const next = await driver().claimOne();
        expect(next.jobId).toBe(id('d'));
        await driver().store.cancel(next.jobId);
        await driver().settle(next, OUTCOMES.release);
        expect(await driver().statusOf(id('e'))).toBe('queued');
        await driver().drain();
        expect(await driver().statusOf(id('f'))).toBe('done');
        expect((await driver().counts()).blocked).toBeUndefined();
        expect((await driver().counts()).queued).toBeUndefined();
        // The next round has another operation.
        keys = keys.idempotency ? { ...keys, idempotency: once(`${operation}-next`) } : keys;
      }
    });

    it('on an operation is replayed in one claim, whatever else is queued', async () => {
      await driver().enqueueWith(OPERATION, ...Array.from({ length: 50 }, (_, i) => `${i}`));
      const holder = await driver().claimOne();
      await driver().claim(1);
      await driver().enqueue('free');
      await driver().settle(holder, OUTCOMES.done);
      const reply = await driver().exchange({ claimMax: 3 });
      expect(reply.replayed).toHaveLength(49);
      expect(reply.claimed.map(({ jobId }) => jobId)).toEqual(['free']);
    });

    it('goes on when the lease of every holder runs out', async () => {
      await driver().enqueueWith(OPERATION, 'a', 'b', 'c');
      for (let i = 0; i < 3; i += 1) {
        await driver().claim(10, { leaseMs: SHORT_MS });
        await driver().advance(PASSED_MS);
        await driver().store.reap(LONG_MS, 10);
      }
      expect(await driver().drain()).toHaveLength(1);
      expect(await driver().counts()).toEqual({ done: 3 });
    });
  });

  describe('all three keys', () => {
    const all = (id: string): JobKeys => ({
      ...BOTH,
      dedup: unique(`d:${id}`, { onDuplicate: 'rerun' }),
    });

    it('are left by a job that is cancelled, removed, replayed or settled', async () => {
      await driver().enqueueWith(all('1'), 'a');
      await driver().enqueueWith(all('2'), 'b');
      await driver().enqueueWith(all('3'), 'c');
      await driver().enqueueWith(all('4'), 'd');
      const holder = await driver().claimOne();
      await driver().claim();
      await driver().enqueueWith(all('1'), 'follow-up');
      expect(await driver().statusOf('follow-up')).toBe('blocked');
      await driver().store.cancel('b');
      await driver().settle(holder, OUTCOMES.done);
      await driver().store.remove('c');
      expect(await driver().drain()).toEqual([]);
      expect(await driver().statusOf('d')).toBe('done');
      expect(await driver().statusOf('follow-up')).toBe('done');
      for (const key of ['1', '2', '3', '4']) {
        expect(await driver().enqueue(`probe-${key}`, { keys: { dedup: unique(`d:${key}`) } })).toMatchObject(
          {
            duplicate: false,
          },
        );
      }
    });

    it('stay with a job that is released', async () => {
      await driver().enqueueWith(all('1'), 'a');
      await driver().enqueueWith(all('2'), 'b');
      const holder = await driver().claimOne();
      await driver().claim();
      await driver().settle(holder, OUTCOMES.release);
      expect(await driver().statusOf('b')).toBe('blocked');
      expect(await driver().enqueue('c', { keys: all('1') })).toMatchObject({ jobId: 'a', replaced: true });
      expect(await driver().claimIds()).toEqual(['a']);
    });
  });

  it('kinds do not meet: a resource is not an operation of the same name', async () => {
    await driver().enqueueWith({ resource: 'same' }, 'a');
    await driver().enqueueWith({ idempotency: once('same') }, 'b');
    await driver().enqueueWith({ dedup: unique('same') }, 'c');
    expect(await driver().claimIds()).toEqual(['a', 'b', 'c']);
  });

  it.each(['with:colon', 'with space', 'brace}{', 'line\nbreak', '%s', 'ключ'])(
    'takes any key: %j',
    async (key) => {
      const keys: JobKeys = {
        resource: key,
        idempotency: once(key),
        dedup: unique(key, { onDuplicate: 'rerun' }),
      };
      await driver().enqueueWith(keys, 'a b');
      const holder = await driver().claimOne();
      await driver().enqueueWith(keys, 'c d');
      await driver().enqueueWith({ resource: key }, 'e f');
      await driver().claim();
      expect(await driver().read('c d')).toMatchObject({ blockedOn: `dedup:${key}` });
      expect(await driver().read('e f')).toMatchObject({ blockedOn: `resource:${key}` });
      await driver().settle(holder, OUTCOMES.dead);
      expect((await driver().drain()).toSorted()).toEqual(['c d', 'e f']);
    },
  );

  it('gives a job that is unblocked by a claim its turn after those that were ready', async () => {
    await driver().enqueueWith(OPERATION, 'first');
    await driver().enqueueWith(RESOURCE, 'holder');
    await driver().enqueueWith(BOTH, 'both');
    await driver().enqueueWith(RESOURCE, 'waits-1');
    const [first, holder] = await driver().claim();
    if (!first || !holder) throw new Error('both were ready');
    await driver().settle(first, OUTCOMES.done);
    await driver().settle(holder, OUTCOMES.done);
    // `both` is replayed and hands the resource on.
    await driver().enqueueAll('free-1', 'free-2');
    expect(await driver().exchange({ claimMax: 2 })).toMatchObject({
      ...{ claimed: [{ jobId: 'free-1' }, { jobId: 'free-2' }] },
    });
    await driver().enqueueAll('free-3');
    expect(await driver().claimIds(1)).toEqual(['waits-1']);
  });

  it('does so again with those that are unblocked in their turn', async () => {
    await driver().enqueueWith(OPERATION, 'first');
    await driver().enqueueWith(RESOURCE, 'holder');
    await driver().enqueueWith(OPERATION, 'i1', 'i2', 'i3');
    await driver().enqueueWith(BOTH, 'both');
    await driver().enqueueWith(RESOURCE, 'waits');
    const [first, holder] = await driver().claim();
    if (!first || !holder) throw new Error('both were ready');
    await driver().settle(holder, OUTCOMES.done);
    await driver().settle(first, OUTCOMES.done);
    // `i1` hands on to `i2` and `both` to `waits`; the turn of `waits` is before that of `i3`.
    expect(await driver().exchange({ claimMax: 1 })).toMatchObject({
      ...{ replayed: ['i1', 'both', 'i2'], claimed: [{ jobId: 'waits' }], more: true },
    });
    expect(await driver().exchange({ claimMax: 1 })).toMatchObject({ replayed: ['i3'], claimed: [] });
  });

  it('hands on what several settlements of one call free', async () => {
    await driver().enqueueWith({ resource: 'x' }, 'x1', 'x2');
    await driver().enqueueWith({ resource: 'y' }, 'y1', 'y2');
    const claimed = await driver().claim();
    const settlements = claimed.map(({ jobId, token }) => ({ jobId, token, outcome: OUTCOMES.done }));
    const reply = await driver().exchange({ settlements });
    expect(reply.settled).toEqual([
      { applied: true, status: 'done' },
      { applied: true, status: 'done' },
    ]);
    expect((await driver().claimIds()).toSorted()).toEqual(['x2', 'y2']);
  });
}
