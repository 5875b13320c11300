/** The memory store of idempotency records keeps the contract, and what only it can be held to. */
import { describe, expect, it } from '@jest/globals';
import { MemoryIdempotencyStore } from '#lib/store/memory/memory-idempotency-store.js';
import { describeIdempotencyStoreContract, LONG_MS } from './idempotency-store.contract.js';

const HOUR_MS = 3_600_000;

function createStore() {
  // Some time of its own, so that nothing can depend on the real one.
  let now = 1_000_000_000_000;
  return {
    store: new MemoryIdempotencyStore({ clock: () => now }),
    advance: async (ms: number) => {
      now += ms;
    },
    stepBack: async () => {
      now -= HOUR_MS;
    },
    close: async () => {},
  };
}

describeIdempotencyStoreContract('memory', async () => createStore());

describe('MemoryIdempotencyStore', () => {
  it('mints tokens from the clock, and past it when time stands still', async () => {
    const { store } = createStore();
    const tokens: number[] = [];
    for (let i = 0; i < 3; i += 1) {
      const reply = await store.begin('key', undefined, `${i}`, LONG_MS);
      if (reply.kind !== 'started') throw new Error(reply.kind);
      tokens.push(reply.token);
      await store.release('key', reply.token);
    }
    expect(tokens).toEqual([1e15, 1e15 + 1, 1e15 + 2]);
  });

  it('forgets an abandoned claim an hour after its lease, and with it what the key stood for', async () => {
    const { store, advance } = createStore();
    await store.begin('key', 'f', 'a', LONG_MS);
    await advance(LONG_MS + HOUR_MS - 1);
    expect(await store.begin('key', 'g', 'b', LONG_MS)).toEqual({ kind: 'conflict' });
    await advance(1);
    expect(await store.inspect('key')).toBeUndefined();
    expect(await store.begin('key', 'g', 'b', LONG_MS)).toMatchObject({ kind: 'started', takenOver: false });
  });

  it('does not keep what has expired', async () => {
    const { store, advance } = createStore();
    for (let round = 0; round < 20; round += 1) {
      for (let i = 0; i < 500; i += 1) {
        const key = `${round}-${i}`;
        const reply = await store.begin(key, undefined, 'a', LONG_MS);
        if (reply.kind === 'started') await store.complete(key, reply.token, '{}', 1_000);
      }
      await advance(1_000);
    }
    const { records } = store as unknown as { records: ReadonlyMap<string, unknown> };
    expect(records.size).toBeLessThanOrEqual(1_500);
  });
});
