/**
 * Redis only: keys of jobs that were deleted by hand, in any order and combination, leave nobody waiting. Each job
 * still ends, and when the business keys were used once more nothing is left of them but results that expire.
 */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ClaimedJob } from '#lib/store/job-store.js';
import type { JobKeys } from '#lib/store/new-job.js';
import { openRedisStore, type RedisStoreHarness } from '../support/redis-store.js';
import { keysOf } from '../support/redis.js';
import { LONG_MS, newJob, once, OUTCOMES, StoreDriver, unique, worker } from './contract-store.js';

// The same everywhere, so that a run says something about the change and not about luck. Look further with FC_SEED.
const SEED = Number(process.env.FC_SEED ?? 789444753);
const IDS = ['holder', 'r1', 'r2', 'i1', 'i2', 'both', 'next', 'follow-up', 'former', 'reserved', 'behind'];

const ENDED: ReadonlySet<string> = new Set(['done', 'dead', 'cancelled']);
/** Of a worker that lives until its job is settled. */
const LEASE_MS = 100;

const RESOURCE: JobKeys = { resource: 'r' };
const OPERATION: JobKeys = { idempotency: once('i') };
const RERUN: JobKeys = { dedup: unique('d', { onDuplicate: 'rerun' }) };
const ALL: JobKeys = { ...RESOURCE, ...OPERATION, ...RERUN };
const RESERVED: JobKeys = { resource: 's' };

type Delete = (harness: RedisStoreHarness) => Promise<unknown>;
const key =
  (name: string): Delete =>
  ({ redis, key: full }) =>
    redis.del(full(name));

/** The run of a job that has not ended. With the run of one that has, nobody could tell that it has. */
const run =
  (id: string): Delete =>
  async ({ redis, key: full, store }) => {
    const [record] = await store.read([id]);
    if (record && !ENDED.has(record.status)) await redis.del(full(`run:${id}`));
  };

const DELETIONS: Readonly<Record<string, Delete>> = {
  'the lock of the resource': key('lock:resource:r'),
  'the lock of the operation': key('lock:idempotency:i'),
  'a reservation': key('lock:resource:s'),
  'who waits for the resource': key('waiting:resource:r'),
  'who waits for the operation': key('waiting:idempotency:i'),
  'who waits behind the reservation': key('waiting:resource:s'),
  'the run of the holder': run('holder'),
  'the lease of the holder': ({ redis, key: full }) => redis.zrem(full('processing'), 'holder'),
  'all leases': key('processing'),
  'the spec of the holder, which owns the dedup key': key('job:holder'),
  'the spec of one that waits': key('job:r1'),
  'the run of one that waits': run('r1'),
  'the run of the one that is next': run('reserved'),
  'the run of the follow-up': run('follow-up'),
  'the dedup key': key('dedup:d'),
  'the record of the operation': key('idempotency:i'),
};

/** What the worker of the holder does when everything was deleted. */
const ENDINGS = ['its worker is gone', 'it is done', 'it is retried'] as const;
type Ending = (typeof ENDINGS)[number];

interface Scene {
  readonly driver: StoreDriver;
  readonly harness: RedisStoreHarness;
  readonly holder: ClaimedJob;
}

/** One job that holds everything, jobs that wait for each of its keys, and one that is next on another key. */
async function arrange(ending: Ending): Promise<Scene> {
  const harness = await openRedisStore();
  const driver = new StoreDriver({ store: harness.store, advance: (ms) => sleep(ms), close: harness.close });
  const { store } = driver;
  // The worker was heard, once: so the reaper knows whose records to search.
  await store.renew(worker('worker-1'), [], LONG_MS);
  await driver.enqueueWith(RESERVED, 'former');
  const former = await driver.claimOne();
  await driver.enqueueWith(ALL, 'holder');
  const holder = await driver.claimOne({ leaseMs: ending === 'its worker is gone' ? 0 : LEASE_MS });
  await driver.enqueueWith(RESOURCE, 'r1', 'r2');
  await driver.enqueueWith(OPERATION, 'i1', 'i2');
  await driver.enqueueWith({ ...RESOURCE, ...OPERATION }, 'both');
  await driver.enqueueWith(RESERVED, 'reserved', 'behind');
  await driver.enqueueWith(RERUN, 'follow-up');
  await driver.claim();
  await driver.settle(former, OUTCOMES.done);
  await driver.enqueue('next');
  expect(await driver.counts()).toEqual({ processing: 1, blocked: 7, queued: 2, done: 1 });
  return { driver, harness, holder };
}

/** What maintenance and a worker do all the time. A worker buries a job without a spec. */
async function goOn({ driver }: Scene): Promise<void> {
  await driver.advance(2);
  await driver.store.reap(1, 100);
  await driver.store.promote(100);
  for (const attempt of await driver.claim(100, { workerId: 'healer' })) {
    const unreadable = { ...OUTCOMES.dead, reason: 'spec_unreadable' } as const;
    await driver.settle(attempt, attempt.spec === '' ? unreadable : OUTCOMES.done);
  }
}

async function end({ driver, holder }: Scene, ending: Ending): Promise<void> {
  if (ending === 'it is done') await driver.settle(holder, OUTCOMES.done);
  if (ending === 'it is retried') await driver.settle(holder, { ...OUTCOMES.retry, delayMs: 0 });
}

async function expectHealed(scene: Scene): Promise<void> {
  const { driver, harness } = scene;
  await driver.advance(LEASE_MS);
  // Each round lets one more job of a chain run.
  for (let round = 0; round < 12; round += 1) await goOn(scene);
  for (const id of IDS) {
    expect([id, await driver.statusOf(id)]).toEqual([id, expect.stringMatching(/^(done|dead|gone)$/)]);
  }
  expect(
    Object.keys(await driver.counts()).filter((status) => status !== 'done' && status !== 'dead'),
  ).toEqual([]);

  // A deleted run forgets its keys, so what it held stands there for nobody. It is in nobody's way.
  await driver.store.enqueue([newJob('again', { keys: ALL }), newJob('again-s', { keys: RESERVED })]);
  await goOn(scene);
  expect(await driver.statusOf('again')).toBe('done');
  expect(await driver.statusOf('again-s')).toBe('done');
  const left = (await keysOf(harness.redis, harness.prefix)).filter((name) =>
    /\{jobs\}:(lock|waiting|dedup|idempotency|blocked|processing)(:|$)/.test(name),
  );
  expect(left).toEqual([harness.key('idempotency:i')]);
  expect(await harness.redis.pttl(harness.key('idempotency:i'))).toBeGreaterThan(0);
}

describe.each(ENDINGS)('keys of jobs deleted by hand: %s', (ending) => {
  it.each(Object.entries(DELETIONS))('%s', async (_name, remove) => {
    const scene = await arrange(ending);
    try {
      await remove(scene.harness);
      await end(scene, ending);
      await expectHealed(scene);
    } finally {
      await scene.driver.close();
    }
  });
});

it(`any of them, in any order, at any time (FC_SEED=${SEED})`, async () => {
  const steps = fc
    .shuffledSubarray(Object.keys(DELETIONS), { minLength: 2 })
    .chain((names) =>
      fc.tuple(...names.map((name) => fc.record({ name: fc.constant(name), goesOn: fc.boolean() }))),
    );
  const property = fc.asyncProperty(fc.constantFrom(...ENDINGS), steps, async (ending, deletions) => {
    const scene = await arrange(ending);
    try {
      for (const { name, goesOn } of deletions) {
        await DELETIONS[name]?.(scene.harness);
        if (goesOn) await goOn(scene);
      }
      await end(scene, ending);
      await expectHealed(scene);
    } finally {
      await scene.driver.close();
    }
  });
  await fc.assert(property, { seed: SEED, numRuns: Number(process.env.FC_RUNS ?? 60) });
}, 300_000);
