/** The memory lock store keeps the contract, and what only it can be held to. */
import { expect, it } from '@jest/globals';
import { MemoryLockStore } from '#lib/store/memory/memory-lock-store.js';
import { MemoryLocks } from '#lib/store/memory/memory-locks.js';
import { openMemoryLocks } from '../support/lock-stores.js';
import { describeLockStoreContract } from './lock-store.contract.js';

describeLockStoreContract('memory', async () => openMemoryLocks());

it('does not keep locks that expired unreleased, and keeps those that are held', async () => {
  let now = 1_000_000_000_000;
  const shared = new MemoryLocks(() => now);
  const store = new MemoryLockStore(shared);
  const held = { name: 'held', owner: 'a', ttlMs: 1_000_000, waitMs: 0 };
  await store.acquire(held);
  for (let round = 0; round < 20; round += 1) {
    for (let i = 0; i < 500; i += 1) {
      await store.acquire({ name: `${round}-${i}`, owner: 'a', ttlMs: 1_000, waitMs: 0 });
    }
    now += 1_000;
  }
  const { locks } = shared as unknown as { locks: ReadonlyMap<string, unknown> };
  expect(locks.size).toBeLessThanOrEqual(1_600);
  expect(await store.acquire({ ...held, owner: 'b' })).toMatchObject({ granted: false });
});
