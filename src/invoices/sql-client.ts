/** The port to a Postgres database. Two implementations: a server, and PGlite inside of this process. */
import { ServiceUnavailableException } from '@nestjs/common';

export type SqlRow = Readonly<Record<string, unknown>>;

export abstract class SqlClient {
  /**
   * Runs one statement, with `$1`, `$2` … for its parameters.
   * @throws DatabaseUnavailableException when the database cannot be reached, or did not answer in time
   */
  abstract query(statement: string, parameters?: readonly unknown[]): Promise<readonly SqlRow[]>;

  /** Runs several statements without parameters: all of them or none. @throws as `query` */
  abstract execute(script: string): Promise<void>;
}

/** Whether the statement was carried out is unknown. */
export class DatabaseUnavailableException extends ServiceUnavailableException {
  constructor(cause: unknown) {
    super('The database is not available at the moment. Try again later.', {
      cause,
      errorCode: 'DATABASE_UNAVAILABLE',
    });
  }
}
