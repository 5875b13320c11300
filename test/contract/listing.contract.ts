/** Contract: paging through the jobs of a status. */
import { describe, expect, it } from '@jest/globals';
import { InvalidOptionError } from '#lib/errors/errors.js';
import type { JobStatus } from '#lib/job/job.js';
import type { ListQuery } from '#lib/store/job-store.js';
import {
  LONG_MS,
  newJob,
  OUTCOMES,
  useStore,
  worker,
  type ContractFactory,
  type StoreDriver,
} from './contract-store.js';

type Order = ListQuery['order'];

/** All ids, page by page; `between` may change the queue after each page. */
async function listAll(
  driver: StoreDriver,
  query: { status: JobStatus; order: Order; limit: number },
  between: (ids: readonly string[]) => Promise<unknown> = async () => {},
): Promise<string[]> {
  const all: string[] = [];
  let cursor: string | undefined;
  // More pages than there can be: a cursor that goes round in circles must fail, not hang.
  for (let pages = 0; pages < 50; pages += 1) {
    const page = await driver.store.list({ ...query, ...(cursor === undefined ? {} : { cursor }) });
    expect(page.ids.length).toBeLessThanOrEqual(query.limit);
    all.push(...page.ids);
    await between(page.ids);
    cursor = page.nextCursor;
    if (cursor === undefined) return all;
  }
  throw new Error('the pages do not end');
}

export function describeListing(factory: ContractFactory): void {
  const driver = useStore(factory);

  const names = (count: number) => Array.from({ length: count }, (_, i) => `job:${i}`);

  const bury = async (...ids: string[]) => {
    for (const id of ids) await driver().run(id, OUTCOMES.dead);
  };

  it.each<JobStatus>(['scheduled', 'queued', 'processing', 'retrying', 'done', 'dead', 'cancelled'])(
    'has an empty page of %s jobs when there are none',
    async (status) => {
      expect(await driver().store.list({ status, limit: 10, order: 'newest' })).toMatchObject({
        ids: [],
        nextCursor: undefined,
      });
    },
  );

  describe('scheduled jobs', () => {
    const ids = names(7);

    it.each([1, 2, 3, 7, 10])('come by when they are due, %i on a page', async (limit) => {
      const jobs = ids.map((id, i) => newJob(id, { delayMs: LONG_MS + i * 1_000 }));
      await driver().store.enqueue(jobs.toReversed());
      expect(await listAll(driver(), { status: 'scheduled', order: 'oldest', limit })).toEqual(ids);
      expect(await listAll(driver(), { status: 'scheduled', order: 'newest', limit })).toEqual(
        ids.toReversed(),
      );
    });
  });

  it('lists processing jobs by when they run out of lease', async () => {
    await driver().enqueueAll('a', 'b', 'c');
    const [a] = await driver().claim();
    if (!a) throw new Error('three jobs were ready');
    await driver().store.renew(worker('worker-1'), [a], 2 * LONG_MS);
    const ids = await listAll(driver(), { status: 'processing', order: 'oldest', limit: 2 });
    expect(ids.toSorted()).toEqual(['a', 'b', 'c']);
    expect(ids.at(-1)).toBe('a');
  });

  it.each<Order>(['oldest', 'newest'])('lists jobs of equal time completely, %s first', async (order) => {
    const ids = names(25);
    await driver().store.enqueue(ids.map((id) => newJob(id, { delayMs: LONG_MS })));
    const listed = await listAll(driver(), { status: 'scheduled', order, limit: 4 });
    expect(listed).toHaveLength(25);
    expect(new Set(listed)).toEqual(new Set(ids));
  });

  describe.each<Order>(['oldest', 'newest'])('dead jobs, %s first', (order) => {
    it('are all seen although those of each page are redriven before the next', async () => {
      const ids = names(8);
      await bury(...ids);
      const listed = await listAll(driver(), { status: 'dead', order, limit: 3 }, async (page) => {
        for (const id of page) await driver().store.redrive(id);
      });
      expect(listed.toSorted()).toEqual(ids);
      expect(await driver().counts()).toEqual({ queued: 8 });
    });

    it('are all seen although some that were listed are removed', async () => {
      const ids = names(8);
      await bury(...ids);
      const listed = await listAll(driver(), { status: 'dead', order, limit: 3 }, async (page) => {
        for (const id of page.slice(1)) await driver().store.remove(id);
      });
      expect(listed.toSorted()).toEqual(ids);
    });
  });

  it('lists ended jobs by when they ended', async () => {
    for (const id of ['a', 'b', 'c']) {
      await driver().run(id, OUTCOMES.done);
      await driver().advance(5);
    }
    expect(await driver().idsOf('done')).toEqual(['a', 'b', 'c']);
    expect(await listAll(driver(), { status: 'done', order: 'newest', limit: 2 })).toEqual(['c', 'b', 'a']);
  });

  it.each<Order>(['oldest', 'newest'])(
    'lists queued jobs in the order of their claims, also when asked for the %s',
    async (order) => {
      const priorities = [5, 9, 0, 5, 1, 5, 0];
      await driver().store.enqueue(priorities.map((priority, i) => newJob(`${priority}-${i}`, { priority })));
      await driver().store.cancel('5-3');
      for (const limit of [1, 2, 10]) {
        expect(await listAll(driver(), { status: 'queued', order, limit })).toEqual([
          '0-2',
          '0-6',
          '1-4',
          '5-0',
          '5-5',
          '9-1',
        ]);
      }
      expect(await driver().claimIds()).toEqual(['0-2', '0-6', '1-4', '5-0', '5-5', '9-1']);
    },
  );

  it('refuses a cursor it never gave', async () => {
    const list = driver().store.list({ status: 'dead', limit: 5, order: 'oldest', cursor: 'nonsense' });
    await expect(list).rejects.toBeInstanceOf(InvalidOptionError);
  });
}
