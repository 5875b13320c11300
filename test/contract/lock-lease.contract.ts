/** Contract: getting a lock, keeping it, giving it back, and who may do that. */
import { expect, it } from '@jest/globals';
import {
  LOCK,
  LONG_MS,
  PASSED_MS,
  SHORT_MS,
  useLocks,
  type LockContractFactory,
} from './lock-contract-store.js';

export function describeLockLeases(factory: LockContractFactory): void {
  const driver = useLocks(factory);

  it('gives a free lock to whoever asks, and to nobody else', async () => {
    await driver().take('a');
    expect(await driver().ask('b')).toMatchObject({ granted: false });
    expect(await driver().holder()).toBe('a');
    expect(await driver().waiters()).toEqual([]);
  });

  it('keeps locks apart', async () => {
    await driver().take('a', { name: 'one' });
    await driver().take('b', { name: 'two' });
    expect(await driver().holder('one')).toBe('a');
  });

  it('answers a repeated request with the same token and the full time', async () => {
    const { token } = await driver().take('a', { ttlMs: SHORT_MS });
    expect(await driver().take('a')).toMatchObject({ token });
    await driver().advance(PASSED_MS);
    expect(await driver().holder()).toBe('a');
  });

  it('shows who holds it, since when and for how long', async () => {
    const { token } = await driver().take('a', { ttlMs: LONG_MS });
    const { holder } = await driver().inspect();
    expect(holder).toMatchObject({ owner: 'a', token });
    expect(holder?.leftMs).toBeGreaterThan(LONG_MS - 5_000);
    expect(holder?.leftMs).toBeLessThanOrEqual(LONG_MS);
    expect(holder?.acquiredAt).toBeCloseTo(token / 1_000, -1);
  });

  it('is free when the time of its holder is over', async () => {
    await driver().take('a', { ttlMs: SHORT_MS });
    await driver().advance(PASSED_MS);
    expect(await driver().inspect()).toEqual({ holder: undefined, waiters: [] });
    await driver().take('b');
  });

  it('renews many leases at once and names the lost ones', async () => {
    const kept = await driver().take('a', { name: 'kept', ttlMs: SHORT_MS });
    const expired = await driver().take('b', { name: 'expired', ttlMs: SHORT_MS });
    const released = await driver().take('c', { name: 'released' });
    await driver().store.release(released);
    const forged = { ...(await driver().take('d', { name: 'forged' })), token: 1 };
    const never = { name: 'never', owner: 'e', token: 1 };
    const all = [kept, released, forged, never].map((lease) => ({ ...lease, ttlMs: LONG_MS }));

    expect(await driver().store.renew(all)).toEqual(['c', 'd', 'e']);
    await driver().advance(PASSED_MS);

    expect(await driver().store.renew([{ ...expired, ttlMs: LONG_MS }])).toEqual(['b']);
    expect(await driver().holder('kept')).toBe('a');
    expect(await driver().store.renew([])).toEqual([]);
  });

  it('is given back by its holder only, and once', async () => {
    const lease = await driver().take('a');
    expect(await driver().store.release({ ...lease, owner: 'b' })).toBe(false);
    expect(await driver().store.release({ ...lease, token: lease.token - 1 })).toBe(false);
    expect(await driver().holder()).toBe('a');
    expect(await driver().store.release(lease)).toBe(true);
    expect(await driver().holder()).toBeUndefined();
    expect(await driver().store.release(lease)).toBe(false);
  });

  it('is not touched by a former holder', async () => {
    const former = await driver().take('a', { ttlMs: SHORT_MS });
    await driver().advance(PASSED_MS);
    const current = await driver().take('b');
    const before = await driver().inspect();

    expect(await driver().store.release(former)).toBe(false);
    expect(await driver().store.renew([{ ...former, ttlMs: 10 * LONG_MS }])).toEqual(['a']);
    await driver().store.abandon(LOCK, 'a');

    const after = await driver().inspect();
    expect(after.holder).toMatchObject({ owner: 'b', token: current.token });
    expect(after.holder?.leftMs).toBeLessThanOrEqual(Number(before.holder?.leftMs));
  });

  it.each(['a {b} c', '}{', '%7B', 'ä€😀', 'line\nbreak', 'a:b:holder', 'x'.repeat(256)])(
    'can be called %j',
    async (name) => {
      const lease = await driver().take('a', { name });
      expect(await driver().ask('b', { name })).toMatchObject({ granted: false });
      expect(await driver().store.release(lease)).toBe(true);
    },
  );

  it('does not take one name for another', async () => {
    const names = ['{', '%7B', '%', '%25', 'a', 'A', ' ', '%0A', '\n'];
    for (const name of names) await driver().take(`owner of ${name}`, { name });
    for (const name of names) expect(await driver().holder(name)).toBe(`owner of ${name}`);
  });
}
