/** Invoices: the routes, the sync under a lock, and the database behind them. */
import { Logger, Module } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { AccountingSystem } from './accounting-system.js';
import { InvoiceRepository } from './invoice.repository.js';
import { InvoiceSyncService } from './invoice-sync.service.js';
import { InvoicesController } from './invoices.controller.js';
import { PgliteClient } from './pglite.client.js';
import { PostgresClient } from './postgres.client.js';
import { SimulatedAccountingSystem } from './simulated-accounting-system.js';
import { SqlClient } from './sql-client.js';

@Module({
  controllers: [InvoicesController],
  providers: [
    InvoiceRepository,
    InvoiceSyncService,
    { provide: AccountingSystem, useClass: SimulatedAccountingSystem },
    { provide: SqlClient, inject: [AppConfig], useFactory: openDatabase },
  ],
})
export class InvoicesModule {}

function openDatabase({ databaseUrl, redisUrl, role }: AppConfig): SqlClient {
  if (databaseUrl !== undefined) return new PostgresClient(databaseUrl);
  if (redisUrl !== undefined && role !== 'worker') {
    new Logger('Database').warn(
      'DATABASE_URL is not set: invoices are kept in memory. No other process sees them, and they are lost when ' +
        'this one ends.',
    );
  }
  return new PgliteClient();
}
