/** Recipe "A status that only moves forward" of docs/recipes-sql.md, on a real Postgres. */
import { beforeEach, expect, it } from '@jest/globals';
import { StaleFenceError } from '@fenceline/nestjs';
import { usePostgres, type Fence } from './postgres.js';

const sql = usePostgres(`
  CREATE TABLE invoice (
    id int PRIMARY KEY,
    status text NOT NULL DEFAULT 'pending' CHECK (status IN ('pending', 'syncing', 'synced', 'failed')),
    fence bigint NOT NULL DEFAULT 0,
    fence_owner text NOT NULL DEFAULT ''
  );
`);
type Status = 'pending' | 'syncing' | 'synced' | 'failed';

beforeEach(() =>
  sql.change(
    "INSERT INTO invoice (id) VALUES (1) ON CONFLICT (id) DO UPDATE SET status = 'pending', fence = 0, fence_owner = ''",
  ),
);

/**
 * `syncing` is also entered from `syncing`, by a later lease: the one before it has died. From `failed` for a new
 * try. `synced` is final: 'done'.
 */
async function begin(id: number, { owner, fencingToken }: Fence): Promise<'begun' | 'done'> {
  const begun = await sql.change(
    `UPDATE invoice SET status = 'syncing', fence = $1, fence_owner = $2
     WHERE id = $3 AND status IN ('pending', 'failed', 'syncing')
       AND (fence < $1 OR (fence = $1 AND fence_owner = $2))`,
    [fencingToken, owner, id],
  );
  if (begun > 0) return 'begun';
  if ((await status(id)) === 'synced') return 'done';
  throw new StaleFenceError(`invoice ${id}`, fencingToken);
}

/** Only from `syncing`, and only by the lease that began it. */
async function end(id: number, to: 'synced' | 'failed', { owner, fencingToken }: Fence): Promise<void> {
  const ended = await sql.change(
    "UPDATE invoice SET status = $1 WHERE id = $2 AND status = 'syncing' AND fence = $3 AND fence_owner = $4",
    [to, id, fencingToken, owner],
  );
  if (ended === 0) throw new StaleFenceError(`invoice ${id}`, fencingToken);
}

const status = async (id: number): Promise<Status | undefined> =>
  (await sql.rows<{ status: Status }>('SELECT status FROM invoice WHERE id = $1', [id]))[0]?.status;

const lease = (fencingToken: number): Fence => ({ owner: `owner-${fencingToken}`, fencingToken });

it('goes from pending over syncing to synced, once', async () => {
  expect(await begin(1, lease(1))).toBe('begun');
  await end(1, 'synced', lease(1));
  expect(await status(1)).toBe('synced');
  expect(await begin(1, lease(2))).toBe('done');
  expect(await status(1)).toBe('synced');
});

it('goes from failed back to syncing', async () => {
  await begin(1, lease(1));
  await end(1, 'failed', lease(1));
  expect(await begin(1, lease(2))).toBe('begun');
  await end(1, 'synced', lease(2));
  expect(await status(1)).toBe('synced');
});

it('is taken over from a holder that died midway, which then can end nothing', async () => {
  await begin(1, lease(1));
  expect(await begin(1, lease(2))).toBe('begun');
  await expect(end(1, 'failed', lease(1))).rejects.toBeInstanceOf(StaleFenceError);
  await expect(begin(1, lease(1))).rejects.toBeInstanceOf(StaleFenceError);
  await end(1, 'synced', lease(2));
  await expect(end(1, 'failed', lease(1))).rejects.toBeInstanceOf(StaleFenceError);
  expect(await status(1)).toBe('synced');
});

it('does not end what never began', async () => {
  await expect(end(1, 'synced', lease(1))).rejects.toBeInstanceOf(StaleFenceError);
  expect(await status(1)).toBe('pending');
});
