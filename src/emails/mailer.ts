/** The port through which e-mails leave. Two implementations: SMTP, and files for development. */

export interface Email {
  /** Identifies the e-mail: the job's idempotency key or else its id, the same in every attempt. */
  readonly id: string;
  readonly to: string;
  readonly subject: string;
  readonly text: string;
}

export interface Receipt {
  /** `Message-ID` header: mail systems drop a second e-mail that has it too. */
  readonly messageId: string;
  /** What took the e-mail: the server's words, or the file's path. */
  readonly accepted: string;
}

export abstract class Mailer {
  /** Sends, and gives up when `signal` aborts. @throws PermanentError when trying again cannot help. */
  abstract send(email: Email, signal: AbortSignal): Promise<Receipt>;
}
