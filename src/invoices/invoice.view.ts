/** An invoice as the API shows it. Not its owner, which names our hosts. */
import type { Invoice, InvoiceStatus } from './invoice.js';

export interface InvoiceView {
  readonly invoiceId: string;
  readonly customerId: string;
  readonly amountCents: number;
  readonly status: InvoiceStatus;
  readonly externalId: string | undefined;
  readonly failure: string | undefined;
  /** Grows with every sync that worked on it. */
  readonly fencingToken: number;
  readonly createdAt: string;
  readonly syncedAt: string | undefined;
}

export function viewOf(invoice: Invoice): InvoiceView {
  const { id, customerId, amountCents, status, externalId, failure, fence, createdAt, syncedAt } = invoice;
  return {
    invoiceId: id,
    customerId,
    amountCents,
    status,
    externalId,
    failure,
    fencingToken: fence,
    createdAt: createdAt.toISOString(),
    syncedAt: syncedAt?.toISOString(),
  };
}
