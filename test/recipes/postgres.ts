/** A real Postgres in this process, and the short words in which the recipes speak to it. */
import { PGlite } from '@electric-sql/pglite';
import { afterAll, beforeAll } from '@jest/globals';

export interface Sql {
  /** Number of rows it changed. */
  change(sql: string, params?: unknown[]): Promise<number>;
  rows<R>(sql: string, params?: unknown[]): Promise<R[]>;
}

/** One database for the tests of a file; `schema` is run once. */
export function usePostgres(schema: string): Sql {
  let db: PGlite | undefined;
  const opened = (): PGlite => {
    if (!db) throw new Error('there is a database only while tests run');
    return db;
  };
  beforeAll(async () => {
    db = await PGlite.create();
    await db.exec(schema);
  }, 60_000);
  afterAll(() => db?.close());
  return {
    change: async (sql, params) => (await opened().query(sql, params)).affectedRows ?? 0,
    rows: async <R>(sql: string, params?: unknown[]) => (await opened().query<R>(sql, params)).rows,
  };
}

/** What a recipe needs of a lease. */
export interface Fence {
  readonly owner: string;
  readonly fencingToken: number;
}
