/** What a partitioned queue does across its partitions, on either store. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EnqueueRefusedError, StoreUnavailableError } from '#lib/errors/errors.js';
import { newPartitionedJobId } from '#lib/job/partition.js';
import { DEFAULTS, INTERNAL } from '#lib/options/defaults.js';
import type { JobStore, LaneCall } from '#lib/store/job-store.js';
import { MemoryJobStore } from '#lib/store/memory/memory-job-store.js';
import { PartitionedJobStore } from '#lib/store/partitioned-job-store.js';
import { eventually } from '../support/eventually.js';
import { openRedisStores } from '../support/redis-store.js';
import { LONG_MS, newJob, OUTCOMES, StoreDriver, worker } from './contract-store.js';

const PARTITIONS = 4;
const NAMES = Array.from({ length: PARTITIONS }, (_, i) => `jobs:${i}`);

type Method = 'exchange' | 'renew' | 'enqueue' | 'reap';

/** Between the queue and one partition: breaks calls before or after they were carried out, and notes them. */
class Link {
  readonly calls: LaneCall[] = [];
  private readonly faults: { method: Method; when: 'before' | 'after' }[] = [];
  readonly store: JobStore;

  constructor(inner: JobStore) {
    this.store = new Proxy(inner, {
      get: (target, name: keyof JobStore) => {
        const method: unknown = Reflect.get(target, name);
        if (typeof method !== 'function') return method;
        return async (...args: unknown[]): Promise<unknown> => {
          if (name === 'exchange') this.calls.push(args[0] as LaneCall);
          const fault = this.faults.findIndex((one) => one.method === name);
          const [found] = fault < 0 ? [] : this.faults.splice(fault, 1);
          if (found?.when === 'before') throw this.error(name);
          const reply: unknown = await Reflect.apply(method, target, args);
          if (found) throw this.error(name);
          return reply;
        };
      },
    });
  }

  failOnce(method: Method, when: 'before' | 'after'): void {
    this.faults.push({ method, when });
  }

  private error(name: string): Error {
    return name === 'enqueue'
      ? new EnqueueRefusedError('?', 'it is away')
      : new StoreUnavailableError('it is away');
  }
}

const KINDS = {
  memory: async () => ({
    stores: NAMES.map((queue) => new MemoryJobStore({ queue, retention: DEFAULTS.queue.retention })),
    close: async () => {},
  }),
  redis: () => openRedisStores(NAMES),
};

describe.each(Object.entries(KINDS))('a partitioned queue on %s', (_kind, open) => {
  let links: readonly Link[];
  let driver: StoreDriver;
  let partitions: readonly JobStore[];
  beforeEach(async () => {
    const { stores, close } = await open();
    partitions = stores;
    links = stores.map((store) => new Link(store));
    driver = new StoreDriver({
      store: new PartitionedJobStore(
        links.map(({ store }, i) => withListener(store, stores[i])),
        { emptyForMs: INTERNAL.partitionEmptyForMs },
      ),
      advance: async () => {},
      close,
    });
  });
  afterEach(() => driver.close());

  const link = (partition: number): Link => {
    const found = links[partition];
    if (!found) throw new Error(`no partition ${partition}`);
    return found;
  };
  /** `count` jobs in each of the given partitions, with ids that tell it. */
  const fill = async (count: number, ...into: number[]): Promise<string[]> => {
    const jobs = into.flatMap((partition) =>
      Array.from({ length: count }, () => newJob(newPartitionedJobId(partition), { partition })),
    );
    for (let i = 0; i < jobs.length; i += 250) await driver.store.enqueue(jobs.slice(i, i + 250));
    return jobs.map(({ id }) => id);
  };
  const partitionOf = (id: string): number => Number(id.split('-').at(-1));
  const shares = (ids: readonly string[]): number[] =>
    NAMES.map((_, i) => ids.filter((id) => partitionOf(id) === i).length);

  it('shares the slots of one call evenly among the partitions that have work', async () => {
    await fill(100, 0, 1, 2, 3);
    expect(shares(await driver.claimIds(40))).toEqual([10, 10, 10, 10]);
    expect(shares(await driver.claimIds(2)).filter((share) => share > 0)).toEqual([1, 1]);
  });

  it('gives all slots to those that have work, and keeps the order within each', async () => {
    const ids = await fill(20, 1, 3);
    const claimed = await driver.claimIds(40);
    expect(shares(claimed)).toEqual([0, 20, 0, 20]);
    for (const partition of [1, 3]) {
      const own = (all: readonly string[]) => all.filter((id) => partitionOf(id) === partition);
      expect(own(claimed)).toEqual(own(ids));
    }
  });

  it('takes turns with single slots, so that no partition starves beside a busy one', async () => {
    await fill(1_000, 0);
    await fill(3, 2);
    const claimed: string[] = [];
    for (let i = 0; i < 20; i++) claimed.push(...(await driver.claimIds(1)));
    expect(claimed).toHaveLength(20);
    expect(shares(claimed)[2]).toBe(3);
  });

  it('finds soon what comes into an empty partition while another one is busy', async () => {
    await fill(5_000, 0);
    await driver.claim(2);
    await fill(1, 3);
    const startedAt = performance.now();
    for (;;) {
      if (shares(await driver.claimIds(2))[3] === 1) break;
      expect(performance.now() - startedAt).toBeLessThan(20 * INTERNAL.partitionEmptyForMs);
    }
  });

  it('does not ask those that were empty a moment ago, unless they wake it', async () => {
    await driver.claim(4);
    const asked = () => links.map(({ calls }) => calls.filter(({ claimMax }) => claimMax > 0).length);
    expect(asked()).toEqual([1, 1, 1, 1]);
    await driver.claim(4);
    expect(asked()).toEqual([1, 1, 1, 1]);
    const listener = driver.store.listenForWork();
    const woken = listener.wait(5_000);
    const [id] = await fill(1, 2);
    expect(await woken).toBe('woken');
    expect(await driver.claimIds(1)).toEqual([id]);
    await listener.close();
  });

  it('repeats a call at all its partitions: what each did once is answered again', async () => {
    await fill(5, 0, 1, 2, 3);
    const before = await driver.claim(8, { number: 1 });
    const settlements = before.map(({ jobId, token }) => ({ jobId, token, outcome: OUTCOMES.done }));
    link(1).failOnce('exchange', 'after');
    link(2).failOnce('exchange', 'before');
    const call = { number: 2, settlements, claimMax: 8 };
    await expect(driver.exchange(call)).rejects.toThrow('it is away');
    const reply = await driver.exchange(call);
    expect(reply.settled).toEqual(before.map(() => ({ applied: true, status: 'done' })));
    expect(shares(reply.claimed.map(({ jobId }) => jobId))).toEqual([2, 2, 2, 2]);
    expect(await driver.counts()).toEqual({ done: 8, processing: 8, queued: 4 });
    expect(await driver.lifetime()).toMatchObject({ done: 8, stale_refused: 0 });
    await expect(driver.exchange({ number: 1 })).rejects.toMatchObject({ name: 'SupersededCallError' });
  });

  it('renews what it can, and says of which leases nothing is known', async () => {
    await fill(1, 0, 1);
    const leases = await driver.claim(2);
    const [lost] = leases.filter(({ jobId }) => partitionOf(jobId) === 0);
    await driver.settle(lost ?? { jobId: '', token: 0 }, OUTCOMES.done);
    link(1).failOnce('renew', 'before');
    const reply = await driver.store.renew(worker('worker-1'), leases, LONG_MS);
    expect(reply.lost).toEqual([lost?.jobId]);
    expect(reply.unanswered?.map(partitionOf)).toEqual([1]);
  });

  it('puts a worker on record at every partition, or says that it could not', async () => {
    link(3).failOnce('renew', 'before');
    await expect(driver.store.renew(worker('worker-1'), [], LONG_MS)).rejects.toThrow('it is away');
  });

  it('reaps where it can', async () => {
    await fill(1, 0, 1, 2, 3);
    await driver.claim(4, { leaseMs: 1 });
    link(1).failOnce('reap', 'before');
    await new Promise((resolve) => setTimeout(resolve, 10));
    const { reaped } = await driver.store.reap(LONG_MS, 10);
    expect(reaped.map(({ jobId }) => partitionOf(jobId)).toSorted((a, b) => a - b)).toEqual([0, 2, 3]);
  });

  it('finds a job whose id says nothing about where its key has led it', async () => {
    const keys = { resource: 'user:1' };
    await driver.store.enqueue(['a', 'b', 'c', 'd', 'e'].map((id) => newJob(id, { keys })));
    expect((await driver.read('c')).status).toBe('queued');
    expect(await driver.store.cancel('b')).toMatchObject({ kind: 'moved' });
    expect(await driver.store.remove('b')).toMatchObject({ kind: 'moved' });
    expect(await driver.store.cancel('nowhere')).toEqual({ kind: 'not_found' });
    const claimed = await driver.claimOne();
    expect(claimed.jobId).toBe('a');
    expect(await driver.store.writeCheckpoint('a', claimed.token, '1')).toBe(true);
    expect(await driver.store.readCheckpoint('a')).toBe('1');
    expect((await driver.store.renew(worker('worker-1'), [claimed], LONG_MS)).lost).toEqual([]);
    expect(await driver.settle(claimed, OUTCOMES.dead)).toMatchObject({ applied: true });
    expect(await driver.store.redrive('a')).toEqual({ kind: 'moved', from: 'dead' });
  });

  it('lists all partitions as one, by time, page by page', async () => {
    const ids: string[] = [];
    for (let i = 0; i < 25; i++) {
      const id = newPartitionedJobId((i * 7) % PARTITIONS);
      const delayMs = LONG_MS + i * 1_000;
      await driver.store.enqueue([newJob(id, { delayMs, partition: partitionOf(id) })]);
      ids.push(id);
    }
    for (const limit of [1, 4, 10, 25, 100]) {
      for (const order of ['oldest', 'newest'] as const) {
        const listed: string[] = [];
        let cursor: string | undefined;
        do {
          const page: Awaited<ReturnType<JobStore['list']>> = await driver.store.list({
            ...{ status: 'scheduled', limit, order },
            ...(cursor === undefined ? {} : { cursor }),
          });
          expect(page.ids.length).toBeLessThanOrEqual(limit);
          listed.push(...page.ids);
          cursor = page.nextCursor;
        } while (cursor !== undefined);
        expect(listed).toEqual(order === 'oldest' ? ids : ids.toReversed());
      }
    }
  });

  it('is paused everywhere, and shows a pause that reached only a part', async () => {
    await fill(2, 0, 1, 2, 3);
    await driver.store.pause();
    expect(await driver.claimIds(8)).toEqual([]);
    await driver.store.resume();
    await partitions[2]?.pause();
    expect(await driver.store.snapshot()).toMatchObject({ paused: true, counts: { queued: 8 } });
    await driver.store.resume();
    await eventually(async () => (await driver.claimIds(8)).length === 8);
  });

  it('does not say that nothing was stored when some partitions took their jobs', async () => {
    link(2).failOnce('enqueue', 'before');
    await expect(fill(1, 1, 2)).rejects.toMatchObject({ code: 'ENQUEUE_UNKNOWN' });
    link(2).failOnce('enqueue', 'before');
    await expect(fill(1, 2)).rejects.toMatchObject({ code: 'ENQUEUE_REFUSED' });
  });

  it('hands on a wake-up that comes when its worker has stopped waiting', async () => {
    const busy = driver.store.listenForWork();
    const idle = driver.store.listenForWork();
    const first = busy.wait(5_000);
    await partitions[0]?.wake();
    expect(await first).toBe('woken');
    // The listeners of the busy one still stand at the other partitions, and may take what is meant for the idle one.
    const second = idle.wait(5_000);
    await partitions[1]?.wake();
    expect(await second).toBe('woken');
    await Promise.all([busy.close(), idle.close()]);
  });
});

/** Listening is no call that can fail. */
function withListener(store: JobStore, inner: JobStore | undefined): JobStore {
  return new Proxy(store, {
    get: (target, name) =>
      name === 'listenForWork' ? () => inner?.listenForWork() : (Reflect.get(target, name) as unknown),
  });
}
