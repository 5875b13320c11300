/** An e-mail as nodemailer wants it, with an identity that is the same however often its job runs. */
import { createHash } from 'node:crypto';
import type { SendMailOptions } from 'nodemailer';
import type { Email } from './mailer.js';

export function messageOf(email: Email, from: string, signal: AbortSignal): SendMailOptions {
  const domain = /@([^\s>]+)/.exec(from)?.[1] ?? 'localhost';
  const { to, subject, text } = email;
  return { messageId: `<${safeName(email.id)}@${domain}>`, from, to, subject, text, signal };
}

/**
 * The id, fit for a file name and a Message-ID. Ids that callers choose may hold slashes, spaces or 128
 * letters of any script; such an id keeps its readable part and gets a digest that tells it from others.
 */
export function safeName(id: string): string {
  if (/^[\w-]{1,128}$/.test(id)) return id;
  const digest = createHash('sha256').update(id).digest('hex').slice(0, 16);
  return `${id.replace(/[^\w-]+/g, '_')}.${digest}`;
}
