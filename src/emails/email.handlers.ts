/** Runs `send_email` jobs. */
import { Injectable } from '@nestjs/common';
import { type JobContext, JobHandler } from '@fenceline/nestjs';
import { Mailer, type Receipt } from './mailer.js';
import { SendEmail, SendEmailPayload } from './send-email.job.js';
import { render } from './templates.js';

@Injectable()
export class EmailHandlers {
  constructor(private readonly mailer: Mailer) {}

  /**
   * May run twice: a crash after the server took the e-mail, or a second job for the same request of a client.
   * All of them carry the same Message-ID.
   */
  @JobHandler(SendEmail, { maxAttempts: 5, timeoutMs: 60_000 })
  async send({ userId, email, template }: SendEmailPayload, job: JobContext): Promise<Receipt> {
    return this.mailer.send(
      { id: job.idempotencyKey ?? job.id, to: email, ...render(template, userId) },
      job.signal,
    );
  }
}
