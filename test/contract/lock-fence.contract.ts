/** Contract: tokens only ever rise, and a fenced value believes nobody but the latest holder. */
import { expect, it } from '@jest/globals';
import {
  LOCK,
  LONG_MS,
  PASSED_MS,
  SHORT_MS,
  useLocks,
  type LockContractFactory,
} from './lock-contract-store.js';

export function describeLockFence(factory: LockContractFactory): void {
  const driver = useLocks(factory);

  it('mints rising tokens: after a release, an expiry, a hand-over, an abandoned grant', async () => {
    const tokens: number[] = [];
    const note = async (): Promise<void> => {
      tokens.push(Number((await driver().inspect()).holder?.token));
    };
    let lease = await driver().take('a');
    await note();
    await driver().store.release(lease);
    await driver().take('b', { ttlMs: SHORT_MS });
    await note();
    await driver().advance(PASSED_MS);
    lease = await driver().take('c');
    await note();
    await driver().queue('d');
    await driver().queue('e');
    await driver().store.release(lease);
    await note();
    await driver().store.abandon(LOCK, 'd');
    await note();
    expect(tokens).toEqual([...new Set(tokens)].toSorted((x, y) => x - y));
    expect(tokens.every(Number.isSafeInteger)).toBe(true);
  });

  it('mints a higher token after everything was deleted', async () => {
    const before = await driver().take('a');
    await driver().deleteEverything();
    const after = await driver().take('b');
    expect(after.token).toBeGreaterThan(before.token);
    expect(await driver().store.release(before)).toBe(false);
    expect(await driver().store.renew([{ ...before, ttlMs: LONG_MS }])).toEqual(['a']);
    expect(await driver().holder()).toBe('b');
  });

  it('mints different tokens in one instant', async () => {
    const tokens = new Set<number>();
    for (let i = 0; i < 50; i += 1) {
      const lease = await driver().take(`owner-${i}`);
      tokens.add(lease.token);
      await driver().store.release(lease);
    }
    expect(tokens.size).toBe(50);
  });

  it('stores a fenced value with its writer', async () => {
    expect(await driver().store.fencedGet('{report}')).toBeUndefined();
    expect(await driver().store.fencedSet('{report}', 'ä', { owner: 'a', token: 5 })).toEqual({
      written: true,
    });
    expect(await driver().store.fencedGet('{report}')).toEqual({ value: 'ä', token: 5, owner: 'a' });
    expect(await driver().store.fencedSet('{report}', '', { owner: 'a', token: 5 })).toEqual({
      written: true,
    });
    expect(await driver().store.fencedGet('{report}')).toEqual({ value: '', token: 5, owner: 'a' });
  });

  it('refuses a lower token, and the same one from another owner', async () => {
    await driver().store.fencedSet('report', 'new', { owner: 'a', token: 1_700_000_000_000_001 });
    const refused = { written: false, current: 1_700_000_000_000_001 };
    const write = (owner: string, token: number) =>
      driver().store.fencedSet('report', 'old', { owner, token });
    expect(await write('a', 1_700_000_000_000_000)).toEqual(refused);
    expect(await write('b', 1_700_000_000_000_001)).toEqual(refused);
    expect(await driver().store.fencedGet('report')).toMatchObject({ value: 'new', owner: 'a' });
    expect(await write('b', 1_700_000_000_000_002)).toEqual({ written: true });
  });
}
