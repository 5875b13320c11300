/** Contract: of the jobs with one idempotency key one does the work, and the others end with its result. */
import { describe, expect, it } from '@jest/globals';
import {
  ERROR,
  LONG_MS,
  newJob,
  once,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  useStore,
  type ContractFactory,
} from './contract-store.js';

const KEYS = { idempotency: once('charge:1') };
const OTHER_PAYLOAD = { idempotency: once('charge:1', { fingerprint: 'other' }) };
const CONFLICT = { refused: 'idempotency_conflict' };

export function describeIdempotencyOfJobs(factory: ContractFactory): void {
  const driver = useStore(factory);

  it('ends the others done with the result of the first, without an attempt', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b', 'c');
    const reply = await driver().exchange({ claimMax: 10 });
    expect(reply).toMatchObject({ claimed: [{ jobId: 'a' }], blocked: ['b', 'c'], replayed: [] });
    expect(await driver().read('b')).toMatchObject({
      ...{ blockedOn: 'idempotency:charge:1', idempotencyKey: 'charge:1' },
    });

    const [holder] = reply.claimed;
    if (holder) await driver().settle(holder, OUTCOMES.done);
    expect(await driver().exchange({ claimMax: 10 })).toMatchObject({
      ...{ claimed: [], blocked: [], replayed: ['b', 'c'], more: false },
    });

    for (const id of ['b', 'c']) {
      const record = await driver().read(id);
      expect(record).toMatchObject({
        ...{
          status: 'done',
          result: OUTCOMES.done.result,
          attempt: 0,
          token: undefined,
          workerId: undefined,
        },
      });
      expect(await driver().whereListed(id)).toEqual(['done']);
    }
    expect(await driver().counts()).toEqual({ done: 3 });
    expect(await driver().lifetime()).toMatchObject({ done: 3, replayed: 2, blocked: 2 });
  });

  it('answers jobs that come later from the record, also after the first job was removed', async () => {
    await driver().enqueueWith(KEYS, 'a');
    await driver().drain();
    await driver().store.remove('a');
    await driver().enqueueWith(KEYS, 'b');
    expect(await driver().exchange({ claimMax: 1 })).toMatchObject({ claimed: [], replayed: ['b'] });
    expect(await driver().read('b')).toMatchObject({ result: OUTCOMES.done.result });
  });

  it('replays that there was no result', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b');
    await driver().settle(await driver().claimOne(), { kind: 'done' });
    await driver().drain();
    expect(await driver().read('b')).toMatchObject({ status: 'done', result: undefined });
  });

  it('claims other jobs beside those that it replays', async () => {
    await driver().enqueueWith(KEYS, 'a');
    await driver().drain();
    await driver().enqueueWith(KEYS, 'b', 'c');
    await driver().enqueueAll('d', 'e');
    expect(await driver().exchange({ claimMax: 2 })).toMatchObject({
      ...{ claimed: [{ jobId: 'd' }, { jobId: 'e' }], replayed: ['b', 'c'], more: false },
    });
  });

  it('does the work again when the record has expired', async () => {
    await driver().enqueueWith({ idempotency: once('k', { ttlMs: SHORT_MS }) }, 'a');
    await driver().drain();
    await driver().advance(PASSED_MS);
    await driver().enqueueWith({ idempotency: once('k', { fingerprint: 'other' }) }, 'b');
    expect(await driver().drain()).toEqual(['b']);
  });

  it('knows the fingerprint of a job that outlived an earlier record', async () => {
    await driver().enqueueWith({ idempotency: once('k', { ttlMs: SHORT_MS }) }, 'a', 'b');
    await driver().settle(await driver().claimOne(), OUTCOMES.done);
    await driver().advance(PASSED_MS);
    await driver().store.reap(LONG_MS, 10);
    expect(await driver().drain()).toEqual(['b']);
    const later = newJob('c', { keys: { idempotency: once('k', { fingerprint: 'other' }) } });
    expect(await driver().store.enqueue([later])).toMatchObject([CONFLICT]);
  });

  it('keeps an operation apart from another one that got the key when the record had expired', async () => {
    const keys = { idempotency: once('k', { ttlMs: SHORT_MS }) };
    await driver().enqueue('a', { keys });
    await driver().enqueue('b', { keys, delayMs: SHORT_MS });
    await driver().drain();
    await driver().advance(PASSED_MS);
    await driver().enqueueWith({ idempotency: once('k', { fingerprint: 'other' }) }, 'c', 'd');
    const { claimed, replayed } = await driver().exchange({ claimMax: 1 });
    expect([claimed.map(({ jobId }) => jobId), replayed]).toEqual([['c'], []]);
    await driver().settle(claimed[0] ?? { jobId: '', token: 0 }, { kind: 'done', result: '"of c"' });
    // `b` is of the first operation: it runs, and its result is not given to `d`, which is of the second.
    expect(await driver().drain()).toEqual(['b']);
    expect((await driver().read('d')).result).toBe('"of c"');
  });

  it.each([OUTCOMES.retry, OUTCOMES.dead, OUTCOMES.cancelled, OUTCOMES.snooze])(
    'lets the next one try when the holder settles as $kind',
    async (outcome) => {
      await driver().enqueueWith(KEYS, 'a', 'b');
      const holder = await driver().claimOne();
      await driver().claim();
      await driver().settle(holder, outcome);
      expect(await driver().claim()).toMatchObject([{ jobId: 'b', attempt: 1 }]);
    },
  );

  it('replays a holder that went to retry when another one was done meanwhile', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b');
    const holder = await driver().claimOne();
    await driver().claim();
    await driver().settle(holder, { kind: 'retry', delayMs: 0, error: ERROR });
    expect(await driver().drain()).toEqual(['b']);
    expect(await driver().read('a')).toMatchObject({
      status: 'done',
      attempt: 1,
      result: OUTCOMES.done.result,
    });
  });

  it('lets the next one take over when the lease of the first is lost', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b');
    const former = await driver().claimOne({ leaseMs: SHORT_MS });
    await driver().claim();
    await driver().advance(PASSED_MS);
    await driver().store.reap(LONG_MS, 10);

    expect(await driver().exchange({ claimMax: 10 })).toMatchObject({
      ...{ claimed: [{ jobId: 'b', attempt: 1 }], blocked: ['a'] },
    });
    // The former holder neither completes the operation nor frees its key.
    expect(await driver().settle(former, OUTCOMES.done)).toMatchObject({ applied: false });
    const { token = 0 } = await driver().read('b');
    await driver().settle({ jobId: 'b', token }, { kind: 'done', result: '"from b"' });
    await driver().drain();
    expect(await driver().read('a')).toMatchObject({ status: 'done', attempt: 1, result: '"from b"' });
  });

  it('runs the job itself again when nobody else waits', async () => {
    await driver().enqueueWith(KEYS, 'a');
    await driver().claimOne({ leaseMs: SHORT_MS });
    await driver().advance(PASSED_MS);
    await driver().store.reap(LONG_MS, 10);
    expect(await driver().claim()).toMatchObject([{ jobId: 'a', attempt: 2 }]);
  });

  it('keeps the place of a released job', async () => {
    await driver().enqueueWith(KEYS, 'a', 'b');
    const holder = await driver().claimOne();
    await driver().claim();
    await driver().settle(holder, OUTCOMES.release);
    expect(await driver().drain()).toEqual(['a']);
    expect(await driver().statusOf('b')).toBe('done');
  });

  describe('another payload', () => {
    it('is refused while a job with the key is pending, in whatever status', async () => {
      const keys = { idempotency: once('k') };
      const refuses = async () => {
        const other = newJob('other', { keys: { idempotency: once('k', { fingerprint: 'other' }) } });
        expect(await driver().store.enqueue([other])).toEqual([
          { jobId: 'other', ...CONFLICT, holder: undefined },
        ]);
        expect(await driver().statusOf('other')).toBe('gone');
      };
      await driver().enqueue('a', { keys, delayMs: SHORT_MS });
      await refuses();
      await driver().advance(PASSED_MS);
      await driver().store.promote(10);
      await refuses();
      const holder = await driver().claimOne();
      await refuses();
      await driver().settle(holder, OUTCOMES.retry);
      await refuses();
      expect(await driver().counts()).toEqual({ retrying: 1 });
      expect(await driver().lifetime()).toMatchObject({ enqueued: 1, duplicates: 0 });
    });

    it('is refused once the operation was done', async () => {
      await driver().enqueueWith(KEYS, 'a');
      await driver().drain();
      expect(await driver().enqueue('b', { keys: OTHER_PAYLOAD })).toMatchObject(CONFLICT);
    });

    it('refuses nothing else in the same call', async () => {
      const replies = await driver().store.enqueue([
        newJob('a', { keys: KEYS }),
        newJob('b', { keys: OTHER_PAYLOAD }),
        newJob('c'),
      ]);
      expect(replies).toMatchObject([{ status: 'queued' }, CONFLICT, { status: 'queued' }]);
      expect(await driver().claimIds()).toEqual(['a', 'c']);
    });

    it.each([
      ['dead', async () => driver().settle(await driver().claimOne(), OUTCOMES.dead)],
      ['cancelled', () => driver().store.cancel('a')],
      ['removed', () => driver().store.remove('a')],
    ] as const)('is welcome when the only job with the key was %s', async (_name, end) => {
      await driver().enqueueWith(KEYS, 'a');
      await end();
      expect(await driver().enqueue('b', { keys: OTHER_PAYLOAD })).toMatchObject({ status: 'queued' });
      expect(await driver().claimIds()).toEqual(['b']);
    });

    it('is refused until the last job with the key is out', async () => {
      await driver().enqueueWith(KEYS, 'a', 'b');
      await driver().store.cancel('a');
      expect(await driver().enqueue('c', { keys: OTHER_PAYLOAD })).toMatchObject(CONFLICT);
      await driver().store.remove('b');
      expect(await driver().enqueue('c', { keys: OTHER_PAYLOAD })).toMatchObject({ status: 'queued' });
    });

    it('counts a job once that is enqueued twice', async () => {
      await driver().enqueueWith(KEYS, 'a');
      await driver().enqueueWith(KEYS, 'a');
      await driver().store.cancel('a');
      expect(await driver().enqueue('b', { keys: OTHER_PAYLOAD })).toMatchObject({ status: 'queued' });
    });

    it('is refused by a redriven job, and refuses the redrive when it was first', async () => {
      await driver().enqueueWith(KEYS, 'a');
      await driver().settle(await driver().claimOne(), OUTCOMES.dead);
      await driver().enqueue('b', { keys: OTHER_PAYLOAD });
      const before = await driver().read('a');
      expect(await driver().store.redrive('a')).toEqual({
        ...{ kind: 'key_taken', key: 'idempotency', holder: undefined },
      });
      expect(await driver().read('a')).toEqual(before);

      await driver().store.cancel('b');
      expect(await driver().store.redrive('a')).toEqual({ kind: 'moved', from: 'dead' });
      expect(await driver().enqueue('c', { keys: OTHER_PAYLOAD })).toMatchObject(CONFLICT);
    });
  });

  it('replays a redriven job when another one was done meanwhile', async () => {
    await driver().enqueueWith(KEYS, 'a');
    await driver().settle(await driver().claimOne(), OUTCOMES.dead);
    await driver().enqueueWith(KEYS, 'b');
    await driver().drain();
    await driver().store.redrive('a');
    expect(await driver().drain()).toEqual([]);
    expect(await driver().read('a')).toMatchObject({
      status: 'done',
      attempt: 0,
      result: OUTCOMES.done.result,
    });
  });

  describe('without retention of done jobs', () => {
    const keeping = useStore(factory, { retention: { done: { count: 0, ageMs: LONG_MS } } });

    it('replays all the same, and keeps nothing of the jobs', async () => {
      await keeping().enqueueWith(KEYS, 'a', 'b', 'c');
      expect(await keeping().drain()).toEqual(['a']);
      expect(await keeping().counts()).toEqual({});
      expect(await keeping().store.read(['a', 'b', 'c'])).toEqual([undefined, undefined, undefined]);
      expect(await keeping().lifetime()).toMatchObject({ done: 3, replayed: 2 });
    });
  });
}
