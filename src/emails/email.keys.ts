/** The keys of a `send_email` job: what keeps an e-mail from being sent twice. */
import type { EnqueueOptions } from '@fenceline/nestjs';
import { digestOf, jobKey } from '../jobs/job-key.js';
import type { SendEmailPayload } from './send-email.job.js';

export function keysOf(
  { userId, email, template }: SendEmailPayload,
  clientKey: string | undefined,
): Pick<EnqueueOptions, 'dedup' | 'resourceKey' | 'idempotencyKey'> {
  return {
    // As long as the e-mail is not sent, asking for it again adds nothing. Afterwards it is a new wish. The address
    // belongs to it: a corrected one must not be dropped. It is not readable there, since keys are shown.
    dedup: { key: jobKey('email', userId, template, digestOf(email)) },
    // One after the other, in the order of the requests: "welcome" before "invoice".
    resourceKey: jobKey('user', userId),
    // Only a client can say that two requests, an hour apart, are one.
    idempotencyKey: clientKey === undefined ? undefined : jobKey('send_email', clientKey),
  };
}
