/** The memory store keeps the contract, and what only it can be held to: an injected clock, order among waiters. */
import { describe, expect, it } from '@jest/globals';
import { DEFAULTS } from '#lib/options/defaults.js';
import { MemoryJobStore } from '#lib/store/memory/memory-job-store.js';
import { newJob, OUTCOMES, StoreDriver, worker, type ContractFactory } from './contract-store.js';
import { describeJobStoreContract } from './job-store.contract.js';

const MINUTE_MS = 60_000;

const createMemoryStore: ContractFactory = async (options) => {
  // Some time of its own, so that nothing can depend on the real one.
  let now = 1_000_000_000_000;
  const retention = { ...DEFAULTS.queue.retention, ...options.retention };
  return {
    store: new MemoryJobStore({ queue: 'contract', retention, clock: () => now }),
    advance: async (ms) => {
      now += ms;
    },
    close: async () => {},
  };
};

describeJobStoreContract('memory', createMemoryStore);

describe('MemoryJobStore', () => {
  const create = async () => new StoreDriver(await createMemoryStore({}));

  it('wakes the worker that has waited longest', async () => {
    const { store } = await create();
    const listeners = [store.listenForWork(), store.listenForWork(), store.listenForWork()];
    const woken: number[] = [];
    const waits = listeners.map(async (listener, i) => {
      await listener.wait(MINUTE_MS);
      woken.push(i);
    });
    for (const wait of waits) {
      await store.wake();
      await wait;
    }
    expect(woken).toEqual([0, 1, 2]);
  });

  it('forgets counters after two hours', async () => {
    const driver = await create();
    await driver.run('a', OUTCOMES.done);
    await driver.advance(2 * MINUTE_MS);
    expect(await driver.store.recent(['done'], MINUTE_MS)).toEqual({ done: 0 });
    expect(await driver.store.recent(['done'], 5 * MINUTE_MS)).toEqual({ done: 1 });
    await driver.advance(120 * MINUTE_MS);
    expect(await driver.store.recent(['done'], 1_000 * MINUTE_MS)).toEqual({ done: 0 });
    expect(await driver.lifetime()).toMatchObject({ done: 1 });
  });

  it('forgets the calls of a worker that is silent for an hour and holds nothing', async () => {
    const driver = await create();
    await driver.enqueueAll('a', 'b');
    for (const workerId of ['worker-1', 'holds']) await driver.store.renew(worker(workerId), [], MINUTE_MS);
    await driver.claimOne({ number: 5, workerId: 'holds', leaseMs: 1_000 * MINUTE_MS });
    await driver.settle(await driver.claimOne({ number: 5 }), OUTCOMES.done);
    await driver.advance(61 * MINUTE_MS);
    await driver.store.reap(MINUTE_MS, 10);
    await expect(driver.claim(1, { number: 1 })).resolves.toEqual([]);
    await expect(driver.claim(1, { number: 1, workerId: 'holds' })).rejects.toThrow('superseded');
  });

  it('mints tokens from the clock, and past it when many are minted at once', async () => {
    const driver = await create();
    await driver.store.enqueue(Array.from({ length: 250 }, (_, i) => newJob(`${i}`)));
    const tokens = (await driver.claim(250)).map(({ token }) => token);
    expect(tokens[0]).toBe(1_000_000_000_000_000);
    expect(tokens.at(-1)).toBe(1_000_000_000_000_249);
  });

  it('keeps thousands of jobs of one status in order', async () => {
    const driver = await create();
    const delays = Array.from({ length: 3_000 }, (_, i) => ((i * 7_919) % 3_000) + 1);
    for (let i = 0; i < delays.length; i += 250) {
      const chunk = delays.slice(i, i + 250);
      await driver.store.enqueue(chunk.map((delayMs) => newJob(`${delayMs}`, { delayMs })));
    }
    for (let gone = 3; gone <= 3_000; gone += 3) await driver.store.cancel(`${gone}`);
    const expected = delays.filter((delay) => delay % 3 !== 0).toSorted((a, b) => a - b);

    const { ids } = await driver.store.list({ status: 'scheduled', limit: 5_000, order: 'newest' });
    expect(ids).toEqual(expected.toReversed().map(String));
    await driver.advance(3_000);
    for (let i = 0; i < 20; i += 1) await driver.store.promote(100);
    const claimed = [...(await driver.claimIds(1_500)), ...(await driver.claimIds(1_500))];
    expect(claimed).toEqual(expected.map(String));
  });
});
