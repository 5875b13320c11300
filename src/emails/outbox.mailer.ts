/** Writes each e-mail as an `.eml` file, which any mail program opens: what you get without an SMTP server. */
import { randomUUID } from 'node:crypto';
import { mkdir, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createTransport } from 'nodemailer';
import { type Email, Mailer, type Receipt } from './mailer.js';
import { messageOf, safeName } from './message.js';

export class OutboxMailer extends Mailer {
  private readonly composer = createTransport({ streamTransport: true, buffer: true });

  constructor(
    private readonly directory: string,
    private readonly from: string,
  ) {
    super();
  }

  async send(email: Email, signal: AbortSignal): Promise<Receipt> {
    const { message, messageId } = await this.composer.sendMail(messageOf(email, this.from, signal));

    // Named by the job: a second run replaces the file instead of adding one. Renamed into place: nobody
    // ever reads half an e-mail, not even after a crash.
    const file = join(this.directory, `${safeName(email.id)}.eml`);
    const draft = `${file}.${randomUUID()}.draft`;
    await mkdir(this.directory, { recursive: true });
    try {
      await writeFile(draft, message, { signal });
      await rename(draft, file);
    } catch (error) {
      await rm(draft, { force: true });
      throw error;
    }
    return { messageId, accepted: file };
  }
}
