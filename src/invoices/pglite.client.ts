/** A Postgres inside of this process, for development: nothing to install, and gone when the process ends. */
import type { PGlite } from '@electric-sql/pglite';
import type { OnApplicationShutdown } from '@nestjs/common';
import { SqlClient, type SqlRow } from './sql-client.js';

export class PgliteClient extends SqlClient implements OnApplicationShutdown {
  private opening: Promise<PGlite> | undefined;

  override async query(statement: string, parameters: readonly unknown[] = []): Promise<readonly SqlRow[]> {
    const database = await this.open();
    const { rows } = await database.query<SqlRow>(statement, [...parameters]);
    return rows;
  }

  override async execute(script: string): Promise<void> {
    const database = await this.open();
    await database.exec(script);
  }

  /** The last of Nest's hooks: running jobs and open requests are finished by then. */
  async onApplicationShutdown(): Promise<void> {
    // One that could not be opened need not be closed; whoever asked for it was told.
    const database = await this.opening?.catch(() => undefined);
    await database?.close();
  }

  /** Not before it is needed: it takes a second and a hundred megabytes, which a worker process can do without. */
  private open(): Promise<PGlite> {
    this.opening ??= import('@electric-sql/pglite')
      .then(({ PGlite: Database }) => Database.create())
      .catch((error: unknown) => {
        // The next one tries again.
        this.opening = undefined;
        throw error;
      });
    return this.opening;
  }
}
