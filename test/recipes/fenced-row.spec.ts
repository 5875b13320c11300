/** Recipe "A row that only the latest holder can write" of docs/recipes-sql.md, on a real Postgres. */
import { afterAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { LockService, StaleFenceError } from '@fenceline/nestjs';
import { MemoryLockStore } from '#lib/store/memory/memory-lock-store.js';
import { MemoryLocks } from '#lib/store/memory/memory-locks.js';
import { usePostgres, type Fence } from './postgres.js';

const sql = usePostgres(`
  CREATE TABLE invoice (
    id int PRIMARY KEY,
    total int NOT NULL DEFAULT 0,
    fence bigint NOT NULL DEFAULT 0,
    fence_owner text NOT NULL DEFAULT ''
  );
`);
const store = new MemoryLockStore(new MemoryLocks());
const locks = new LockService(store);
afterAll(() => locks.close());

/** Step 1: from here on no earlier holder can write the row, even before this one has. */
async function claimRow(id: number, { owner, fencingToken }: Fence): Promise<void> {
  const claimed = await sql.change(
    `UPDATE invoice SET fence = $1, fence_owner = $2
     WHERE id = $3 AND (fence < $1 OR (fence = $1 AND fence_owner = $2))`,
    [fencingToken, owner, id],
  );
  if (claimed === 0) throw new StaleFenceError(`invoice ${id}`, fencingToken);
}

/** Step 2, any number of times: only while the row is still claimed by this lease. */
async function writeTotal(id: number, total: number, { owner, fencingToken }: Fence): Promise<void> {
  const written = await sql.change(
    'UPDATE invoice SET total = $1 WHERE id = $2 AND fence = $3 AND fence_owner = $4',
    [total, id, fencingToken, owner],
  );
  if (written === 0) throw new StaleFenceError(`invoice ${id}`, fencingToken);
}

const total = async (id: number): Promise<number | undefined> =>
  (await sql.rows<{ total: number }>('SELECT total FROM invoice WHERE id = $1', [id]))[0]?.total;

it('refuses the write of a former holder that wakes up late', async () => {
  await sql.change('INSERT INTO invoice (id) VALUES (1)');
  const stale = await locks.acquire('invoice:1');
  await claimRow(1, stale);
  await store.abandon('invoice:1', stale.owner); // Its time is over, and it does not know.
  const current = await locks.acquire('invoice:1');
  await claimRow(1, current);

  await expect(writeTotal(1, 100, stale)).rejects.toBeInstanceOf(StaleFenceError);
  await expect(claimRow(1, stale)).rejects.toMatchObject({ code: 'STALE_FENCE', target: 'invoice 1' });
  await writeTotal(1, 200, current);
  expect(await total(1)).toBe(200);
});

it('lets the same lease claim twice, so that it can repeat after a lost reply', async () => {
  await sql.change('INSERT INTO invoice (id) VALUES (2)');
  await locks.using('invoice:2', {}, async (lease) => {
    await claimRow(2, lease);
    await claimRow(2, lease);
    await writeTotal(2, 5, lease);
  });
  expect(await total(2)).toBe(5);
});

it('does not take another owner with the same token for the holder', async () => {
  await sql.change('INSERT INTO invoice (id) VALUES (3)');
  await claimRow(3, { owner: 'a', fencingToken: 7 });
  await expect(claimRow(3, { owner: 'b', fencingToken: 7 })).rejects.toBeInstanceOf(StaleFenceError);
});

it('claiming first closes the gap in which a former holder could still read and write', async () => {
  await sql.change('INSERT INTO invoice (id, total) VALUES (4, 10)');
  const former = { owner: 'former', fencingToken: 1 };
  const current = { owner: 'current', fencingToken: 2 };
  await claimRow(4, former);
  await claimRow(4, current);
  const read = Number(await total(4));
  // Without the claim this one would slip in between the read and the write of the current holder.
  await expect(writeTotal(4, 99, former)).rejects.toBeInstanceOf(StaleFenceError);
  await writeTotal(4, read + 1, current);
  expect(await total(4)).toBe(11);
});

it('never goes back, in whatever order writes arrive', async () => {
  await sql.change('INSERT INTO invoice (id) VALUES (5)');
  let highest = 0;
  const arrival = fc.record({
    fencingToken: fc.integer({ min: 1, max: 50 }),
    owner: fc.constantFrom('a', 'b'),
  });
  await fc.assert(
    fc.asyncProperty(fc.array(arrival, { maxLength: 12 }), async (arrivals) => {
      for (const fence of arrivals) {
        const accepted = await claimRow(5, fence).then(
          () => true,
          () => false,
        );
        // With an equal token the owner decides.
        const expected = fence.fencingToken === highest ? accepted : fence.fencingToken > highest;
        expect(accepted).toBe(expected);
        highest = Math.max(highest, fence.fencingToken);
        const [row] = await sql.rows<{ fence: number }>('SELECT fence::int FROM invoice WHERE id = 5');
        expect(row?.fence).toBe(highest);
      }
    }),
    { numRuns: 30 },
  );
});
