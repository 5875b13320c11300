/**
 * Brings an invoice into the accounting system. The lock keeps two requests from doing so at once, as a rule.
 * Where it cannot, because its holder was paused for too long, the fenced row keeps the late one from writing, and
 * the idempotency key keeps the accounting system from booking twice.
 */
import { ConflictException, Injectable, Logger, ServiceUnavailableException } from '@nestjs/common';
import { type Lease, LockService } from '@fenceline/nestjs';
import { AppConfig } from '../config/app-config.js';
import { AccountingSystem, BookingRefusedError } from './accounting-system.js';
import type { Invoice, SyncOutcome } from './invoice.js';
import { InvoiceRepository } from './invoice.repository.js';

/** The lock is held meanwhile, and renews itself: a system that hangs must not keep it for ever. */
const BOOKING_TIMEOUT_MS = 10_000;

@Injectable()
export class InvoiceSyncService {
  private readonly logger = new Logger(InvoiceSyncService.name);

  constructor(
    private readonly config: AppConfig,
    private readonly locks: LockService,
    private readonly invoices: InvoiceRepository,
    private readonly accounting: AccountingSystem,
  ) {}

  /** An invoice that is synced already is the answer to a second request, too. */
  async sync(id: string): Promise<Invoice> {
    const { invoiceLockTtlMs: ttlMs, invoiceLockWaitMs: waitMs } = this.config;
    // Nobody needs a lock on what is not there.
    await this.invoices.get(id);
    return this.locks.using(`invoice:${id}`, { ttlMs, waitMs }, (lease) => this.syncUnder(lease, id));
  }

  private async syncUnder(lease: Lease, id: string): Promise<Invoice> {
    const { claimed, invoice } = await this.invoices.claim(id, lease);
    if (claimed) return this.invoices.settle(id, await this.book(invoice, lease), lease);
    if (invoice.status === 'synced') return invoice;
    throw new ConflictException(`Invoice "${id}" was refused for good: ${invoice.failure}`, {
      errorCode: 'INVOICE_FAILED',
    });
  }

  private async book({ id, customerId, amountCents }: Invoice, lease: Lease): Promise<SyncOutcome> {
    const booking = { idempotencyKey: `invoice:${id}`, customerId, amountCents };
    const signal = AbortSignal.any([lease.signal, AbortSignal.timeout(BOOKING_TIMEOUT_MS)]);
    try {
      return { status: 'synced', externalId: await this.accounting.book(booking, signal) };
    } catch (error) {
      if (error instanceof BookingRefusedError) return { status: 'failed', failure: error.message };
      lease.signal.throwIfAborted();
      // The invoice stays `syncing`, which is the truth: it may be booked or not. The next sync finds out.
      this.logger.warn(`Invoice ${id} could not be booked: ${String(error)}`);
      throw new ServiceUnavailableException('The accounting system did not answer. Try again later.', {
        cause: error,
        errorCode: 'ACCOUNTING_UNAVAILABLE',
      });
    }
  }
}
