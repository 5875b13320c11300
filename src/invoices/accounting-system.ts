/** The port to the system in which invoices are booked: somebody else's, slow, and without fencing. */

export interface Booking {
  /** Names the operation: a repeated one books nothing new and gets the first one's answer. */
  readonly idempotencyKey: string;
  readonly customerId: string;
  readonly amountCents: number;
}

export abstract class AccountingSystem {
  /**
   * Books an invoice and answers with its number over there. Gives up when `signal` aborts.
   * @throws BookingRefusedError when trying again cannot help; with any other error nobody knows whether it booked
   */
  abstract book(booking: Booking, signal: AbortSignal): Promise<string>;
}

/** The message is for the people who look at the invoice. */
export class BookingRefusedError extends Error {
  override readonly name = 'BookingRefusedError';
}
