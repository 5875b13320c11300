/** Takes the place of the accounting system: keeps what it is asked, and answers when a test lets it. */
import type { INestApplication } from '@nestjs/common';
import { jest } from '@jest/globals';
import { AccountingSystem, type Booking } from '../../../../src/invoices/accounting-system.js';

/** A call that is under way. It looks at no signal: a system that was told to stop may go on all the same. */
export interface HeldCall {
  readonly booking: Booking;
  readonly signal: AbortSignal;
  answer(externalId: string): void;
  fail(error: Error): void;
}

export class Accounting {
  readonly bookings: Booking[] = [];
  /** What the next calls are answered with, one each; then as ever. */
  readonly nextErrors: Error[] = [];
  private readonly held: HeldCall[] = [];
  private readonly waiting: ((call: HeldCall) => void)[] = [];

  constructor(app: INestApplication) {
    const accounting = app.get(AccountingSystem);
    const book = accounting.book.bind(accounting);
    jest.spyOn(accounting, 'book').mockImplementation((booking, signal) => {
      this.bookings.push(booking);
      const error = this.nextErrors.shift();
      if (error) return Promise.reject(error);
      const hold = this.waiting.shift();
      if (!hold) return book(booking, signal);
      return new Promise((answer, fail) => {
        const call = { booking, signal, answer, fail };
        this.held.push(call);
        hold(call);
      });
    });
  }

  /** Resolves when the next call comes, which then stays open. */
  holdNext(): Promise<HeldCall> {
    return new Promise((resolve) => this.waiting.push(resolve));
  }

  /** An app does not close while a request is open: without this a test that fails would hang the others. */
  failHeld(): void {
    for (const { fail } of this.held.splice(0)) fail(new Error('The test is over.'));
  }

  /** How often that invoice was to be booked. */
  timesBooked(invoiceId: string): number {
    return this.bookings.filter(({ idempotencyKey }) => idempotencyKey.endsWith(invoiceId)).length;
  }
}
