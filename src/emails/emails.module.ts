/** E-mails: the route that accepts them, the handler that sends them, and the way out. */
import { Module } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { EmailHandlers } from './email.handlers.js';
import { EmailsController } from './emails.controller.js';
import { Mailer } from './mailer.js';
import { OutboxMailer } from './outbox.mailer.js';
import { SmtpMailer } from './smtp.mailer.js';

@Module({
  controllers: [EmailsController],
  providers: [
    EmailHandlers,
    {
      provide: Mailer,
      inject: [AppConfig],
      useFactory: ({ smtpUrl, mailFrom, outboxDir }: AppConfig): Mailer =>
        smtpUrl === undefined ? new OutboxMailer(outboxDir, mailFrom) : new SmtpMailer(smtpUrl, mailFrom),
    },
  ],
})
export class EmailsModule {}
