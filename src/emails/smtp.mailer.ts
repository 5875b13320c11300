/** Sends e-mails through an SMTP server. */
import { PermanentError } from '@fenceline/nestjs';
import { createTransport, type NodemailerError } from 'nodemailer';
import { type Email, Mailer, type Receipt } from './mailer.js';
import { messageOf } from './message.js';

/** Below the handler's timeout, so that the job's error says which step hung. */
const CONNECT_TIMEOUT_MS = 10_000;
const SILENCE_TIMEOUT_MS = 30_000;

export class SmtpMailer extends Mailer {
  private readonly transport;

  constructor(
    url: string,
    private readonly from: string,
  ) {
    super();
    this.transport = createTransport({
      url,
      connectionTimeout: CONNECT_TIMEOUT_MS,
      greetingTimeout: CONNECT_TIMEOUT_MS,
      socketTimeout: SILENCE_TIMEOUT_MS,
    });
  }

  async send(email: Email, signal: AbortSignal): Promise<Receipt> {
    try {
      // The message carries the signal: when it aborts, the connection is closed in mid-conversation.
      const { messageId, response } = await this.transport.sendMail(messageOf(email, this.from, signal));
      return { messageId, accepted: response };
    } catch (error) {
      if (!(error instanceof Error) || !isRefusedForGood(error)) throw error;
      throw new PermanentError(`The mail server refused the e-mail for good: ${error.message}`, {
        cause: error,
      });
    }
  }
}

/**
 * A reply of class 5xx to the envelope or the message. The same reply to the login or the greeting says
 * something about our settings or the server's day, not about this e-mail: worth trying again.
 */
function isRefusedForGood({ permanent, code }: NodemailerError): boolean {
  return permanent === true && (code === 'EENVELOPE' || code === 'EMESSAGE');
}
