/** Contract: idle workers sleep until there may be work. */
import { afterEach, describe, expect, it } from '@jest/globals';
import type { WakeListener } from '#lib/store/job-store.js';
import {
  LONG_MS,
  newJob,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  useStore,
  type ContractFactory,
} from './contract-store.js';

/** Longer than any wake-up takes; a test that waits for it has failed. */
const PATIENT_MS = 4_000;
/** For waits that are to end without a wake-up. A new listener must have connected by then. */
const BRIEF_MS = 150;

export function describeWake(factory: ContractFactory): void {
  const driver = useStore(factory);
  const listeners: WakeListener[] = [];

  const listen = (): WakeListener => {
    const listener = driver().store.listenForWork();
    listeners.push(listener);
    return listener;
  };
  /** Whether a wake-up is standing. Takes it. */
  const isWoken = async () => (await listen().wait(BRIEF_MS)) === 'woken';
  const drain = async () => {
    while (await isWoken());
  };

  afterEach(async () => {
    await Promise.all(listeners.splice(0).map((listener) => listener.close()));
  });

  it('end after the timeout when nothing happens', async () => {
    expect(await listen().wait(BRIEF_MS)).toBe('timeout');
  });

  it('come to a worker that waits', async () => {
    const waiting = listen().wait(PATIENT_MS);
    await driver().enqueue('a');
    expect(await waiting).toBe('woken');
  });

  it('wait for a worker that is busy, but only one of them', async () => {
    for (const id of ['a', 'b', 'c']) await driver().enqueue(id);
    await driver().store.wake();
    const listener = listen();
    expect(await listener.wait(PATIENT_MS)).toBe('woken');
    expect(await listener.wait(BRIEF_MS)).toBe('timeout');
  });

  it('wake one worker each', async () => {
    const first = listen();
    const second = listen();
    const waits = [first, second].map(async (listener) => ({
      listener,
      result: await listener.wait(PATIENT_MS),
    }));
    await driver().store.wake();
    const woken = await Promise.race(waits);
    expect(woken.result).toBe('woken');

    const other = woken.listener === first ? second : first;
    await other.close();
    expect((await Promise.all(waits)).map(({ result }) => result).toSorted()).toEqual(['timeout', 'woken']);
  });

  it('end with close', async () => {
    const listener = listen();
    const waiting = listener.wait(PATIENT_MS);
    await listener.close();
    expect(await waiting).toBe('timeout');
    // Longer than the test may take: there is nothing to wait for any more.
    expect(await listener.wait(LONG_MS)).toBe('timeout');
    await listener.close();
  });

  describe('are given', () => {
    it('when a job becomes ready by enqueue', async () => {
      await driver().enqueue('a');
      expect(await isWoken()).toBe(true);
    });

    it('when a scheduled job is the first to be due', async () => {
      await driver().enqueue('a', { delayMs: LONG_MS });
      expect(await isWoken()).toBe(true);
      await driver().enqueue('b', { delayMs: LONG_MS / 2 });
      expect(await isWoken()).toBe(true);
    });

    it('when a job is promoted', async () => {
      await driver().enqueue('a', { delayMs: SHORT_MS });
      await drain();
      await driver().advance(PASSED_MS);
      await driver().store.promote(10);
      expect(await isWoken()).toBe(true);
    });

    it('when a job is released', async () => {
      await driver().enqueue('a');
      const claimed = await driver().claimOne();
      await drain();
      await driver().settle(claimed, OUTCOMES.release);
      expect(await isWoken()).toBe(true);
    });

    it('when a job is reaped', async () => {
      await driver().enqueue('a');
      await driver().claimOne({ leaseMs: SHORT_MS });
      await drain();
      await driver().advance(PASSED_MS);
      await driver().store.reap(LONG_MS, 10);
      expect(await isWoken()).toBe(true);
    });

    it('when a job is redriven', async () => {
      await driver().run('a', OUTCOMES.dead);
      await drain();
      await driver().store.redrive('a');
      expect(await isWoken()).toBe(true);
    });

    it('when the queue is resumed', async () => {
      await driver().enqueue('a');
      await driver().store.pause();
      await drain();
      await driver().store.resume();
      expect(await isWoken()).toBe(true);
    });

    it('when a worker is full and leaves ready jobs', async () => {
      await driver().enqueueAll('a', 'b');
      await drain();
      await driver().claim(1);
      expect(await isWoken()).toBe(true);
    });

    it('when a worker is full and leaves a due time', async () => {
      await driver().store.enqueue([newJob('a'), newJob('b', { delayMs: LONG_MS })]);
      await drain();
      await driver().claim(1);
      expect(await isWoken()).toBe(true);
    });
  });

  describe('are not given', () => {
    it('for a duplicate', async () => {
      await driver().enqueue('a');
      await drain();
      await driver().enqueue('a');
      expect(await isWoken()).toBe(false);
    });

    it('for a scheduled job that is not the first to be due', async () => {
      await driver().enqueue('a', { delayMs: LONG_MS });
      await drain();
      await driver().enqueue('b', { delayMs: 2 * LONG_MS });
      expect(await isWoken()).toBe(false);
    });

    it('when a worker takes the last ready job', async () => {
      await driver().enqueue('a');
      await drain();
      await driver().claim(1);
      expect(await isWoken()).toBe(false);
    });

    it('when maintenance finds nothing to do', async () => {
      await driver().store.promote(10);
      await driver().store.reap(LONG_MS, 10);
      await driver().store.prune(10);
      expect(await isWoken()).toBe(false);
    });
  });
}
