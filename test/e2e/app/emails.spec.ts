import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, STORES, type TestApp } from './support/app.js';

describe.each(STORES)('e-mails, $store store', ({ env }) => {
  let test: TestApp;

  beforeAll(async () => {
    test = await startApp(env);
  });
  afterAll(() => test.close());

  it('goes from the request to a sent e-mail', async () => {
    const email = { userId: '42', email: 'ada@example.com', template: 'welcome' };
    const accepted = await test.api.post('/emails', email);

    expect(accepted.status).toBe(202);
    expect(accepted.body).toEqual({ jobId: expect.any(String), status: 'queued', duplicate: false });
    const jobId = String(accepted.body.jobId);
    expect(accepted.headers.get('location')).toBe(`/jobs/${jobId}`);

    const job = await test.api.jobInStatus(jobId, 'done');
    const file = join(test.outboxDir, `${jobId}.eml`);
    expect(job).toMatchObject({
      jobId,
      type: 'send_email',
      attempt: 1,
      maxAttempts: 5,
      workerId: expect.any(String),
      fencingToken: expect.any(Number),
      result: { messageId: `<${jobId}@fenceline.example>`, accepted: file },
    });
    for (const time of ['createdAt', 'startedAt', 'updatedAt', 'endedAt']) {
      expect(job[time]).toMatch(/^\d{4}-\d\d-\d\dT.*Z$/);
    }
    expect(job).not.toHaveProperty('payload');
    expect(job).not.toHaveProperty('lastError');

    const eml = await readFile(file, 'utf8');
    expect(eml).toContain('To: ada@example.com\r\n');
    expect(eml).toContain('From: Fenceline <no-reply@fenceline.example>\r\n');
    expect(eml).toContain('Subject: Welcome\r\n');
    expect(eml).toContain(`Message-ID: <${jobId}@fenceline.example>\r\n`);
    expect(eml).toContain('your account 42 is ready.');
  });

  it('takes a repeated request with the same jobId for the same job', async () => {
    const email = { userId: '1', email: 'a@example.com', template: 'invoice', jobId: 'invoice-2026-01' };

    const first = await test.api.post('/emails', email);
    expect(first.body).toEqual({ jobId: 'invoice-2026-01', status: 'queued', duplicate: false });
    await test.api.jobInStatus('invoice-2026-01', 'done');

    const second = await test.api.post('/emails', email);
    expect(second.status).toBe(202);
    expect(second.body).toEqual({ jobId: 'invoice-2026-01', status: 'done', duplicate: true });
  });

  it.each(['../../escape', 'with space/and:colon', '日本語'.repeat(42), '...'])(
    'keeps the e-mail of job "%s" inside the outbox, and finds the job by its Location',
    async (jobId) => {
      const email = { userId: '1', email: 'a@example.com', template: 'password_reset', jobId };
      const accepted = await test.api.post('/emails', email);
      expect(accepted.status).toBe(202);

      const job = await test.api.jobInStatus(jobId, 'done');
      expect(job.jobId).toBe(jobId);
      const { accepted: file } = job['result'] as { accepted: string };
      expect(await readdir(test.outboxDir)).toContain(file.slice(test.outboxDir.length + 1));

      const found = await test.api.get(accepted.headers.get('location') ?? '');
      expect(found.body.jobId).toBe(jobId);
    },
  );

  it('leaves no drafts behind', async () => {
    await test.api.jobInStatus(await test.api.enqueueEmail(), 'done');
    expect((await readdir(test.outboxDir)).filter((name) => !name.endsWith('.eml'))).toEqual([]);
  });
});
