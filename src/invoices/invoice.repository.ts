/**
 * Invoices in SQL. Every write of a sync is fenced: the row keeps the highest fencing token it has seen, and takes
 * nothing from a lower one. Whoever lost the lock without noticing finds that out here.
 */
import { randomUUID } from 'node:crypto';
import { Injectable, NotFoundException } from '@nestjs/common';
import { type Lease, StaleFenceError } from '@fenceline/nestjs';
import type { Invoice, NewInvoice, SyncOutcome } from './invoice.js';
import { invoiceOf } from './invoice.row.js';
import { INVOICE_SCHEMA } from './invoice.schema.js';
import { SqlClient, type SqlRow } from './sql-client.js';

/** What a fenced write needs to know of a lease. */
export type Fence = Pick<Lease, 'fencingToken' | 'owner'>;

export interface Claim {
  /** `false`: its sync has ended before, and nothing was changed. */
  readonly claimed: boolean;
  readonly invoice: Invoice;
}

/** The same token again is this lease's own: a write that is repeated because its answer got lost. */
const FENCED = '(fence < $1 OR (fence = $1 AND owner = $2))';

const CLAIM = `
  UPDATE invoices SET status = 'syncing', fence = $1, owner = $2
  WHERE id = $3 AND status IN ('pending', 'syncing') AND ${FENCED}
  RETURNING *`;

const SETTLE = `
  UPDATE invoices SET status = $4, external_id = $5, failure = $6, fence = $1, owner = $2,
    synced_at = CASE WHEN $4 = 'synced' THEN now() END
  WHERE id = $3 AND status = 'syncing' AND ${FENCED}
  RETURNING *`;

@Injectable()
export class InvoiceRepository {
  private schema: Promise<void> | undefined;

  constructor(private readonly database: SqlClient) {}

  async create({ customerId, amountCents }: NewInvoice): Promise<Invoice> {
    const [row] = await this.query(
      'INSERT INTO invoices (id, customer_id, amount_cents) VALUES ($1, $2, $3) RETURNING *',
      [randomUUID(), customerId, amountCents],
    );
    if (!row) throw new Error('The database did not return the invoice that it stored.');
    return invoiceOf(row);
  }

  /** @throws NotFoundException */
  async get(id: string): Promise<Invoice> {
    const [row] = await this.query('SELECT * FROM invoices WHERE id = $1', [id]);
    if (!row) throw new NotFoundException(`There is no invoice "${id}".`, { errorCode: 'INVOICE_NOT_FOUND' });
    return invoiceOf(row);
  }

  /**
   * Comes before any other work: from here on earlier leases cannot write to the invoice, wherever they are stuck.
   * One that is `syncing` was left so by a lease that is over, and is taken up.
   * @throws StaleFenceError when a later lease was here; NotFoundException
   */
  async claim(id: string, { fencingToken, owner }: Fence): Promise<Claim> {
    const [row] = await this.query(CLAIM, [fencingToken, owner, id]);
    if (row) return { claimed: true, invoice: invoiceOf(row) };
    const invoice = await this.get(id);
    if (invoice.status === 'synced' || invoice.status === 'failed') return { claimed: false, invoice };
    throw new StaleFenceError(`invoice ${id}`, fencingToken, invoice.fence);
  }

  /** @throws StaleFenceError when a later lease was here; nothing was changed */
  async settle(id: string, outcome: SyncOutcome, { fencingToken, owner }: Fence): Promise<Invoice> {
    const externalId = outcome.status === 'synced' ? outcome.externalId : null;
    const failure = outcome.status === 'failed' ? outcome.failure : null;
    const parameters = [fencingToken, owner, id, outcome.status, externalId, failure];
    const [row] = await this.query(SETTLE, parameters);
    if (row) return invoiceOf(row);
    throw new StaleFenceError(`invoice ${id}`, fencingToken, (await this.get(id)).fence);
  }

  private async query(statement: string, parameters: readonly unknown[]): Promise<readonly SqlRow[]> {
    await this.migrate();
    return this.database.query(statement, parameters);
  }

  /** At the first query and not at boot: the app starts, and runs jobs, while the database is away. */
  private async migrate(): Promise<void> {
    this.schema ??= this.database.execute(INVOICE_SCHEMA);
    try {
      await this.schema;
    } catch (error) {
      this.schema = undefined;
      throw error;
    }
  }
}
