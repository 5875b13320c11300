/** What an invoice is, and how it goes: `pending → syncing → synced | failed`. */
import type { FencingToken } from '@fenceline/nestjs';

/**
 * `syncing` without anybody at work: the sync was interrupted, and nobody knows how far it came. The next one
 * takes it up. `failed`: the accounting system will never take it.
 */
export const INVOICE_STATUSES = ['pending', 'syncing', 'synced', 'failed'] as const;
export type InvoiceStatus = (typeof INVOICE_STATUSES)[number];

export interface Invoice {
  readonly id: string;
  readonly customerId: string;
  readonly amountCents: number;
  readonly status: InvoiceStatus;
  /** Its number in the accounting system, once it is there. */
  readonly externalId: string | undefined;
  /** Why the accounting system refused it. */
  readonly failure: string | undefined;
  /** The highest fencing token that wrote to it; 0 before the first sync. */
  readonly fence: FencingToken;
  /** The lease that token belongs to. */
  readonly owner: string | undefined;
  readonly createdAt: Date;
  readonly syncedAt: Date | undefined;
}

export type NewInvoice = Pick<Invoice, 'customerId' | 'amountCents'>;

/** How a sync ends. */
export type SyncOutcome =
  | { readonly status: 'synced'; readonly externalId: string }
  | { readonly status: 'failed'; readonly failure: string };
