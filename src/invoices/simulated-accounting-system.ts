/** Stands for a real accounting system: takes its time, and answers the same operation always the same. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { AccountingSystem, type Booking, BookingRefusedError } from './accounting-system.js';

/** It has to refuse something, so that one can see what becomes of an invoice then. */
const LIMIT_CENTS = 1_000_000_00;

@Injectable()
export class SimulatedAccountingSystem extends AccountingSystem {
  constructor(private readonly config: AppConfig) {
    super();
  }

  override async book({ idempotencyKey, amountCents }: Booking, signal: AbortSignal): Promise<string> {
    await sleep(this.config.accountingDelayMs, undefined, { signal });
    if (amountCents > LIMIT_CENTS) {
      throw new BookingRefusedError(`Amounts over ${LIMIT_CENTS} cents are not booked without approval.`);
    }
    return `ACC-${createHash('sha256').update(idempotencyKey).digest('hex').slice(0, 12).toUpperCase()}`;
  }
}
