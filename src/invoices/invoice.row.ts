/** Reads an invoice from its row. Drivers disagree on large numbers: some give them as text. */
import { INVOICE_STATUSES, type Invoice } from './invoice.js';
import type { SqlRow } from './sql-client.js';

export function invoiceOf(row: SqlRow): Invoice {
  return {
    id: String(row['id']),
    customerId: String(row['customer_id']),
    amountCents: Number(row['amount_cents']),
    status: statusOf(row),
    externalId: textOf(row['external_id']),
    failure: textOf(row['failure']),
    fence: Number(row['fence']),
    owner: textOf(row['owner']),
    createdAt: dateOf(row['created_at']) ?? new Date(0),
    syncedAt: dateOf(row['synced_at']),
  };
}

function statusOf({ status }: SqlRow): Invoice['status'] {
  const known = INVOICE_STATUSES.find((each) => each === status);
  if (known === undefined) throw new Error(`An invoice has the unknown status ${String(status)}.`);
  return known;
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function dateOf(value: unknown): Date | undefined {
  return value instanceof Date ? value : undefined;
}
