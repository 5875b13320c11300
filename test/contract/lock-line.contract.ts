/** Contract: the line of waiters, first come first served, in which the dead hold up nobody. */
import { expect, it } from '@jest/globals';
import { INTERNAL } from '#lib/options/defaults.js';
import {
  Ears,
  LOCK,
  LONG_MS,
  PASSED_MS,
  SHORT_MS,
  useLocks,
  type LockContractFactory,
} from './lock-contract-store.js';

export function describeLockLine(factory: LockContractFactory): void {
  const driver = useLocks(factory);

  it('hands the lock on in the order of arrival', async () => {
    let lease = await driver().take('holder');
    const owners = Array.from({ length: 12 }, (_, i) => `waiter-${i}`);
    for (const owner of owners) await driver().queue(owner);
    expect(await driver().waiters()).toEqual(owners);
    for (const owner of owners) {
      expect(await driver().store.release(lease)).toBe(true);
      await driver().ears.hears(owner);
      expect(await driver().holder()).toBe(owner);
      lease = await driver().take(owner);
    }
    expect(await driver().waiters()).toEqual([]);
    expect(driver().ears.heardOnce).toEqual(owners);
  });

  it('keeps the place of a waiter that asks again', async () => {
    await driver().take('holder');
    await driver().queue('a');
    await driver().queue('b');
    await driver().queue('a');
    expect(await driver().waiters()).toEqual(['a', 'b']);
  });

  it('does not let a newcomer pass those that wait', async () => {
    const lease = await driver().take('holder');
    await driver().queue('a');
    await driver().store.release(lease);
    expect(await driver().ask('newcomer')).toMatchObject({ granted: false });
    expect(await driver().holder()).toBe('a');
  });

  it('does not let a newcomer pass when the holder has died', async () => {
    await driver().take('holder', { ttlMs: SHORT_MS });
    await driver().queue('a');
    await driver().advance(PASSED_MS);
    expect(await driver().ask('newcomer', { waitMs: LONG_MS })).toMatchObject({ granted: false });
    await driver().ears.hears('a');
    expect(await driver().holder()).toBe('a');
    expect(await driver().waiters()).toEqual(['newcomer']);
  });

  it('asks a waiter to come back when the time of the holder is over', async () => {
    await driver().take('holder', { ttlMs: 1_000 });
    const first = await driver().queue('a');
    expect(first).toBeGreaterThan(900);
    expect(first).toBeLessThanOrEqual(1_001);
    // The first one will come. If it has died as well, the second one does, and so on: not one lease later each, or a
    // free lock would stand there for as long as there are dead ones in front.
    for (let place = 1; place <= 5; place++) {
      const next = await driver().queue(`next-${place}`);
      expect(next).toBeGreaterThan(900);
      expect(next).toBeLessThanOrEqual(1_001 + place * INTERNAL.lockRecheckStepMs);
    }
  });

  it('asks a waiter to come back soon even if the holder has much time', async () => {
    await driver().take('holder', { ttlMs: 10 * INTERNAL.lockRecheckMs });
    expect(await driver().queue('a')).toBe(INTERNAL.lockRecheckMs);
  });

  it('gives the first in line the lock of a dead holder when it comes back', async () => {
    await driver().take('holder', { ttlMs: SHORT_MS });
    await driver().queue('a');
    await driver().queue('b');
    await driver().advance(PASSED_MS);
    await driver().take('a', { waitMs: LONG_MS });
    expect(await driver().waiters()).toEqual(['b']);
  });

  it('forgets a waiter that did not come back in time', async () => {
    const lease = await driver().take('holder');
    await driver().queue('late', { waitMs: SHORT_MS });
    await driver().queue('b');
    await driver().advance(PASSED_MS);
    expect(await driver().waiters()).toEqual(['b']);
    await driver().store.release(lease);
    expect(await driver().holder()).toBe('b');
    expect(driver().ears.heard).not.toContain('late');
  });

  it('passes over waiters whose process hears nothing; they keep their place', async () => {
    const peer = driver().openPeer();
    let lease = await driver().take('holder');
    await driver().queue('deaf-1', { via: peer });
    await driver().queue('deaf-2', { via: peer });
    await driver().queue('b');
    await driver().store.release(lease);
    expect(await driver().holder()).toBe('b');
    expect(await driver().waiters()).toEqual(['deaf-1', 'deaf-2']);

    lease = await driver().take('b');
    const ears = new Ears();
    await peer.subscribe(ears);
    await driver().store.release(lease);
    await ears.hears('deaf-1');
    expect(await driver().holder()).toBe('deaf-1');
    expect(driver().ears.heardOnce).toEqual(['b']);
  });

  it('leaves a lock free when nobody in line hears; whoever asks first gets it', async () => {
    const peer = driver().openPeer();
    const lease = await driver().take('holder');
    await driver().queue('deaf-1', { via: peer });
    await driver().queue('deaf-2', { via: peer });
    await driver().store.release(lease);
    expect(await driver().holder()).toBeUndefined();
    await driver().take('deaf-2', { via: peer, waitMs: LONG_MS });
    expect(await driver().waiters()).toEqual(['deaf-1']);
  });

  it('takes a granted lock away from a waiter that does not take it up', async () => {
    const lease = await driver().take('holder');
    await driver().queue('asleep', { ttlMs: SHORT_MS });
    await driver().queue('b');
    await driver().store.release(lease);
    expect(await driver().holder()).toBe('asleep');
    await driver().advance(PASSED_MS);
    await driver().take('b', { waitMs: LONG_MS });
    expect(await driver().ask('asleep', { waitMs: LONG_MS })).toMatchObject({ granted: false });
    expect(await driver().waiters()).toEqual(['asleep']);
  });

  it('gives a granted waiter only the time to take the lock up, and then its full time', async () => {
    const lease = await driver().take('holder');
    await driver().queue('a');
    await driver().store.release(lease);
    expect((await driver().inspect()).holder?.leftMs).toBeLessThanOrEqual(INTERNAL.lockTakeUpMs);
    const granted = await driver().inspect();
    expect(await driver().take('a')).toMatchObject({ token: granted.holder?.token });
    expect((await driver().inspect()).holder?.leftMs).toBeGreaterThan(LONG_MS - 5_000);
  });

  it('lets a waiter give up: nothing of it is left', async () => {
    const lease = await driver().take('holder');
    await driver().queue('a');
    await driver().queue('b');
    await driver().store.abandon(LOCK, 'a');
    await driver().store.abandon(LOCK, 'never asked');
    expect(await driver().waiters()).toEqual(['b']);
    expect(await driver().holder()).toBe('holder');
    await driver().store.release(lease);
    expect(await driver().holder()).toBe('b');
  });

  it('passes on the lock of a waiter that gives up in the instant it was granted', async () => {
    const lease = await driver().take('holder');
    await driver().queue('a');
    await driver().queue('b');
    await driver().store.release(lease);
    expect(await driver().holder()).toBe('a');
    await driver().store.abandon(LOCK, 'a');
    await driver().ears.hears('b');
    expect(await driver().inspect()).toMatchObject({ holder: { owner: 'b' }, waiters: [] });
    await driver().store.abandon(LOCK, 'b');
    expect(await driver().inspect()).toEqual({ holder: undefined, waiters: [] });
  });
}
