import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { PermanentError } from '@fenceline/nestjs';
import { SmtpMailer } from '../../../src/emails/smtp.mailer.js';
import { startApp, STORES, type TestApp } from './support/app.js';
import { eventually } from './support/eventually.js';
import { SmtpSink } from './support/smtp-sink.js';

describe.each(STORES)('e-mails by SMTP, $store store', ({ env }) => {
  let sink: SmtpSink;
  let test: TestApp;

  beforeEach(async () => {
    sink = await SmtpSink.start();
    test = await startApp({ ...env, SMTP_URL: sink.url, ADMIN_TOKEN: 'secret' });
  });
  afterEach(async () => {
    await test.close();
    await sink.stop();
  });

  it('hands the e-mail to the server', async () => {
    const jobId = await test.api.enqueueEmail({ email: 'grace@example.com', template: 'invoice' });

    const job = await test.api.jobInStatus(jobId, 'done');
    expect(job['result']).toEqual({
      messageId: `<${jobId}@fenceline.example>`,
      accepted: '250 queued as sink-1',
    });
    expect(sink.received).toHaveLength(1);
    expect(sink.received[0]).toMatchObject({ from: 'no-reply@fenceline.example', to: 'grace@example.com' });
    expect(sink.received[0]?.data).toContain('Subject: Your invoice');
    expect(sink.received[0]?.data).toContain(`Message-ID: <${jobId}@fenceline.example>`);
  });

  it('buries the job at once when the server refuses the e-mail for good', async () => {
    sink.recipientReply = '550 no such mailbox';
    const jobId = await test.api.enqueueEmail();

    const job = await test.api.jobInStatus(jobId, 'dead');
    expect(job).toMatchObject({
      attempt: 1,
      maxAttempts: 5,
      lastError: { name: 'PermanentError', code: 'PERMANENT', at: expect.stringMatching(/Z$/) },
    });
    expect(job['lastError']).toMatchObject({ message: expect.stringContaining('550 no such mailbox') });
    expect(job['lastError']).not.toHaveProperty('stack');
    expect(sink.recipientsAsked).toBe(1);
  });

  it('tries again when the server refuses it for now', async () => {
    sink.nextRecipientReplies.push('451 come back later');
    const jobId = await test.api.enqueueEmail();

    const job = await test.api.jobInStatus(jobId, 'done');
    expect(job.attempt).toBe(2);
    expect(sink.recipientsAsked).toBe(2);
    expect(sink.received).toHaveLength(1);
  });

  it('tries again when the server cannot be reached', async () => {
    await sink.stop();
    const jobId = await test.api.enqueueEmail();

    const job = await test.api.jobWhen(jobId, ({ lastError }) => lastError !== undefined);
    expect(job['lastError']).toMatchObject({ code: 'ESOCKET' });
    expect(['retrying', 'queued', 'processing']).toContain(job.status);
    sink = await SmtpSink.start();
  });

  it('sends a buried e-mail after a redrive', async () => {
    sink.nextRecipientReplies.push('550 mailbox full of errors');
    const jobId = await test.api.enqueueEmail();
    const dead = await test.api.jobInStatus(jobId, 'dead');

    const redriven = await test.api.post(`/jobs/${jobId}/redrive`, undefined, {
      authorization: 'Bearer secret',
    });
    expect(redriven.status).toBe(202);
    expect(redriven.body.jobId).toBe(jobId);

    const job = await test.api.jobInStatus(jobId, 'done');
    expect(job.attempt).toBe(1);
    expect(job['fencingToken']).toBeGreaterThan(Number(dead['fencingToken']));
    expect(sink.received).toHaveLength(1);
  });
});

describe('SmtpMailer', () => {
  const email = { id: 'job-1', to: 'ada@example.com', subject: 'Hello', text: 'Hello' };
  let sink: SmtpSink;
  let mailer: SmtpMailer;

  beforeEach(async () => {
    sink = await SmtpSink.start();
    mailer = new SmtpMailer(sink.url, 'no-reply@example.com');
  });
  afterEach(() => sink.stop());

  it('closes the connection when the signal aborts in mid-conversation', async () => {
    sink.recipientReply = 'silence';
    const controller = new AbortController();
    const sending = mailer.send(email, controller.signal).catch((error: unknown) => error);
    await eventually(
      () => sink.recipientsAsked,
      (asked) => asked === 1,
    );
    expect(sink.openConnections).toBe(1);

    controller.abort(new Error('lease lost'));

    expect(await sending).toBeInstanceOf(Error);
    expect(await sending).not.toBeInstanceOf(PermanentError);
    await eventually(
      () => sink.openConnections,
      (open) => open === 0,
    );
    expect(sink.received).toEqual([]);
  });

  it('does not take a refused login for a refused e-mail', async () => {
    const url = sink.url.replace('smtp://', 'smtp://user:wrong@');
    sink.greetingReply = '250-sink\r\n250 AUTH PLAIN';
    sink.loginReply = '535 wrong password';

    const error = await new SmtpMailer(url, 'no-reply@example.com')
      .send(email, new AbortController().signal)
      .catch((reason: unknown) => reason);

    expect(error).toMatchObject({ code: 'EAUTH', responseCode: 535 });
    expect(error).not.toBeInstanceOf(PermanentError);
  });
});
