/** What claims leave in Redis, and that a claim copes with what others left there. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openRedisStore, type RedisStoreHarness } from '../support/redis-store.js';
import { OUTCOMES, StoreDriver, worker } from './contract-store.js';

const MANY = 50;

describe('claims in Redis', () => {
  let harness: RedisStoreHarness;
  let driver: StoreDriver;

  beforeEach(async () => {
    harness = await openRedisStore();
    driver = new StoreDriver({ store: harness.store, advance: (ms) => sleep(ms), close: harness.close });
    await driver.store.renew(worker('worker-1'), [], 1_000);
  });
  afterEach(() => harness.close());

  const held = (): Promise<Record<string, string>> => harness.redis.hgetall(harness.key('held:worker-1'));
  const ids = Array.from({ length: MANY }, (_, i) => `job-${i}`);

  it('claims a job once whose id was put into the list twice by hand', async () => {
    await driver.enqueueAll('a', 'b');
    await harness.redis.rpush(harness.key('queued:5'), 'a');
    expect(await driver.claimIds()).toEqual(['a', 'b']);
    expect(await driver.counts()).toEqual({ processing: 2 });
  });

  it('records what it took, until the worker says that it holds none of it any more', async () => {
    await driver.enqueueAll('a', 'b', 'c');
    const [a, b] = await driver.claim(2, { number: 1 });
    const c = await driver.claimOne({ number: 2 });
    expect(await held()).toEqual({ '0:1': `${a?.token}\na\nb`, '0:2': `${c.token}\nc` });
    expect(b?.token).toBe((a?.token ?? 0) + 1);

    await driver.exchange({
      number: 3,
      settlements: [{ jobId: 'c', token: c.token, outcome: OUTCOMES.done }],
      endedClaims: ['0:2'],
    });
    expect(await held()).toEqual({ '0:1': `${a?.token}\na\nb` });
  });

  it('leaves no record of a worker that signs off without a job, whatever it forgot to say', async () => {
    await driver.enqueueAll('a', 'b');
    const [a, b] = await driver.claim(2);
    if (!a || !b) throw new Error('two jobs were ready');
    await driver.settle(a, OUTCOMES.done);
    await driver.store.signOff('worker-1');
    expect(Object.keys(await held())).toHaveLength(1);
    await driver.settle(b, OUTCOMES.done);
    await driver.store.signOff('worker-1');
    expect(await held()).toEqual({});
  });

  it('is searched by the reaper, which drops the records of jobs that ended', async () => {
    await driver.enqueueAll('a', 'b');
    const a = await driver.claimOne({ number: 1 });
    await driver.claimOne({ number: 2 });
    await driver.settle(a, OUTCOMES.done);
    await sleep(5);
    await driver.store.reap(1, 100);
    expect(Object.keys(await held())).toEqual(['0:2']);
  });

  it('keeps many leases as an index, in which none has to be searched for, and leaves no trace of how', async () => {
    await driver.enqueueAll(...ids);
    expect(await driver.claimIds(MANY)).toEqual(ids);
    expect(await harness.redis.object('ENCODING', harness.key('processing'))).toBe('skiplist');
    expect((await harness.redis.zrange(harness.key('processing'), '0', '-1')).toSorted()).toEqual(
      ids.toSorted(),
    );
  });
});
