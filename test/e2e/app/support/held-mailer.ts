/** Takes the place of the mailer: keeps what it is given, and sends when a test lets it. */
import type { INestApplication } from '@nestjs/common';
import { jest } from '@jest/globals';
import { type Email, Mailer } from '../../../../src/emails/mailer.js';

export class HeldMailer {
  readonly sent: Email[] = [];
  private readonly waiting: (() => void)[] = [];
  private isHolding = false;

  constructor(app: INestApplication) {
    jest.spyOn(app.get(Mailer), 'send').mockImplementation(async (email) => {
      if (this.isHolding) await new Promise<void>((resolve) => this.waiting.push(resolve));
      this.sent.push(email);
      return { messageId: `<${email.id}>`, accepted: 'by a test' };
    });
  }

  hold(): void {
    this.isHolding = true;
  }

  letGo(): void {
    this.isHolding = false;
    for (const send of this.waiting.splice(0)) send();
  }
}
