/** Contract: how far a handler has come, kept from attempt to attempt. */
import { expect, it } from '@jest/globals';
import { OUTCOMES, PASSED_MS, SHORT_MS, LONG_MS, useStore, type ContractFactory } from './contract-store.js';

export function describeCheckpoints(factory: ContractFactory): void {
  const driver = useStore(factory);

  it('are absent until one is written', async () => {
    await driver().enqueue('a');
    expect(await driver().store.readCheckpoint('a')).toBeUndefined();
    expect(await driver().store.readCheckpoint('nobody')).toBeUndefined();
  });

  it('keep the last text written, as it was', async () => {
    await driver().enqueue('a');
    const { token } = await driver().claimOne();
    expect(await driver().store.writeCheckpoint('a', token, '1')).toBe(true);
    const value = '{"cursor":12345678901234567890,"list":[],"text":"é😀"}';
    expect(await driver().store.writeCheckpoint('a', token, value)).toBe(true);
    expect(await driver().store.readCheckpoint('a')).toBe(value);
  });

  it('stay through retry, release, reap and redrive', async () => {
    await driver().enqueue('a');
    const first = await driver().claimOne();
    await driver().store.writeCheckpoint('a', first.token, '"first"');
    await driver().settle(first, { ...OUTCOMES.retry, delayMs: 0 });
    await driver().settle(await driver().claimOne(), OUTCOMES.release);
    await driver().claimOne({ leaseMs: SHORT_MS });
    await driver().advance(PASSED_MS);
    await driver().store.reap(LONG_MS, 10);
    expect(await driver().store.readCheckpoint('a')).toBe('"first"');

    await driver().settle(await driver().claimOne(), OUTCOMES.dead);
    await driver().store.redrive('a');
    expect(await driver().store.readCheckpoint('a')).toBe('"first"');
    const last = await driver().claimOne();
    expect(await driver().store.writeCheckpoint('a', last.token, '"last"')).toBe(true);
    expect(await driver().store.writeCheckpoint('a', first.token, '"late"')).toBe(false);
    expect(await driver().store.readCheckpoint('a')).toBe('"last"');
  });

  it('can be written while an expired lease is not reaped', async () => {
    await driver().enqueue('a');
    const { token } = await driver().claimOne({ leaseMs: SHORT_MS });
    await driver().advance(PASSED_MS);
    expect(await driver().store.writeCheckpoint('a', token, '1')).toBe(true);
  });

  it('of one job are not those of another', async () => {
    await driver().enqueueAll('a', 'b');
    const [a, b] = await driver().claim();
    if (!a || !b) throw new Error('two jobs were ready');
    await driver().store.writeCheckpoint('a', a.token, '"a"');
    expect(await driver().store.writeCheckpoint('b', a.token, '"wrong"')).toBe(false);
    expect(await driver().store.readCheckpoint('b')).toBeUndefined();
  });
}
