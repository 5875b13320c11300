import { beforeEach, expect, it, jest } from '@jest/globals';

const create = jest.fn<() => Promise<unknown>>();
jest.unstable_mockModule('@electric-sql/pglite', () => ({ PGlite: { create } }));
const { PgliteClient } = await import('./pglite.client.js');

beforeEach(() => {
  create.mockReset();
});

it('tries again after it could not be opened', async () => {
  const query = async (): Promise<unknown> => ({ rows: [{ one: 1 }] });
  const close = jest.fn(async () => {});
  create.mockRejectedValueOnce(new Error('out of memory')).mockResolvedValueOnce({ query, close });
  const client = new PgliteClient();
  await expect(client.query('SELECT 1')).rejects.toThrow('out of memory');
  expect(await client.query('SELECT 1')).toEqual([{ one: 1 }]);
  await client.onApplicationShutdown();
  expect(close).toHaveBeenCalledTimes(1);
});

it('shuts down although it could not be opened, also while it still tries', async () => {
  create.mockRejectedValue(new Error('out of memory'));
  const client = new PgliteClient();
  const query = client.query('SELECT 1');
  const shutdown = client.onApplicationShutdown();
  await expect(query).rejects.toThrow('out of memory');
  await expect(shutdown).resolves.toBeUndefined();
  await expect(client.onApplicationShutdown()).resolves.toBeUndefined();
});
