/** A Postgres server, shared by all processes. */
import { Logger, type OnApplicationShutdown } from '@nestjs/common';
import pg from 'pg';
import { DatabaseUnavailableException, SqlClient, type SqlRow } from './sql-client.js';

const CONNECT_TIMEOUT_MS = 5_000;
/** A lock is held meanwhile: a server that hangs must not keep it for ever. */
const QUERY_TIMEOUT_MS = 10_000;
/** Classes of errors with which a server says that it is not fit at the moment: lost connection, full, going down. */
const PASSING_ERROR = /^(?:08|53|57P)/;

export class PostgresClient extends SqlClient implements OnApplicationShutdown {
  private readonly logger = new Logger('Database');
  private readonly pool: pg.Pool;

  constructor(url: string) {
    super();
    this.pool = new pg.Pool({
      connectionString: url,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: QUERY_TIMEOUT_MS,
      statement_timeout: QUERY_TIMEOUT_MS,
    });
    // Of connections that nobody uses at the moment. Unheard, it would end the process.
    this.pool.on('error', (error) => this.logger.warn(`A connection was lost: ${error.message}`));
  }

  override async query(statement: string, parameters: readonly unknown[] = []): Promise<readonly SqlRow[]> {
    try {
      const { rows } = await this.pool.query<SqlRow>(statement, [...parameters]);
      return rows;
    } catch (error) {
      throw this.explain(error);
    }
  }

  override async execute(script: string): Promise<void> {
    try {
      // Without parameters Postgres takes several statements at once, and runs them as one transaction.
      await this.pool.query(script);
    } catch (error) {
      throw this.explain(error);
    }
  }

  /** The last of Nest's hooks: running jobs and open requests are finished by then. */
  async onApplicationShutdown(): Promise<void> {
    await this.pool.end();
  }

  private explain(error: unknown): unknown {
    if (error instanceof pg.DatabaseError && !PASSING_ERROR.test(error.code ?? '')) return error;
    this.logger.warn(`The database cannot be reached: ${String(error)}`);
    return new DatabaseUnavailableException(error);
  }
}
