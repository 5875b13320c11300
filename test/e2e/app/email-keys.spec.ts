/** What a user sees of the keys of `send_email` jobs. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { requireRedisUrl, startApp, STORES, type TestApp, uniquePrefix } from './support/app.js';
import { HeldMailer } from './support/held-mailer.js';

const EMAIL = { userId: '42', email: 'ada@example.com', template: 'password_reset' };

describe.each(STORES)('the same e-mail twice, $store store', ({ env }) => {
  let test: TestApp;
  let mailer: HeldMailer;

  beforeAll(async () => {
    test = await startApp(env);
    mailer = new HeldMailer(test.app);
  });
  afterEach(() => mailer.letGo());
  afterAll(() => test.close());

  function request(fields: Record<string, unknown> = {}, headers: Record<string, string> = {}) {
    return test.api.post('/emails', { ...EMAIL, ...fields }, headers);
  }

  it('is sent once while the first request is pending, and again when it is asked for afterwards', async () => {
    mailer.hold();
    const first = await request();
    expect(first.body).toMatchObject({ status: 'queued', duplicate: false });
    const jobId = String(first.body.jobId);
    await test.api.jobInStatus(jobId, 'processing');

    const second = await request();
    expect(second.status).toBe(202);
    expect(second.body).toEqual({ jobId, status: 'processing', duplicate: true });
    expect(second.headers.get('location')).toBe(`/jobs/${jobId}`);

    mailer.letGo();
    await test.api.jobInStatus(jobId, 'done');
    const third = await request();
    expect(third.body).toMatchObject({ duplicate: false });
    expect(third.body.jobId).not.toBe(jobId);
    await test.api.jobInStatus(String(third.body.jobId), 'done');
    expect(mailer.sent.filter(({ to }) => to === EMAIL.email)).toHaveLength(2);
  });

  it('is another e-mail when the user, the template or the address is another', async () => {
    mailer.hold();
    const answers = [
      await request({ userId: '43' }),
      await request({ userId: '43', template: 'welcome' }),
      await request({ userId: '43', email: 'corrected@example.com' }),
      await request({ userId: '44' }),
    ];
    expect(answers.map(({ body }) => body['duplicate'])).toEqual([false, false, false, false]);
  });

  it('waits for another e-mail to the same user, and says so', async () => {
    mailer.hold();
    const first = await request({ userId: '45', template: 'welcome' });
    await test.api.jobInStatus(String(first.body.jobId), 'processing');
    const second = await request({ userId: '45', template: 'invoice' });
    const jobId = String(second.body.jobId);

    expect(await test.api.jobInStatus(jobId, 'blocked')).toMatchObject({
      attempt: 0,
      blockedOn: 'resource:user:45',
      resourceKey: 'user:45',
      dedupKey: expect.stringMatching(/^email:45:invoice:#[\w-]{22}$/),
    });
    mailer.letGo();
    const done = await test.api.jobInStatus(jobId, 'done');
    expect(done).not.toHaveProperty('blockedOn');
    expect(done).not.toHaveProperty('idempotencyKey');
    const sent = mailer.sent.filter(({ text }) => text.includes('account 45'));
    expect(sent.map(({ subject }) => subject)).toEqual(['Welcome', 'Your invoice']);
  });

  it.each(['a:b', '{42}', 'x'.repeat(128), 'ünï cødé'])('takes any userId for a key: %s', async (userId) => {
    const { status, body } = await request({ userId });
    expect(status).toBe(202);
    const job = await test.api.jobInStatus(String(body.jobId), 'done');
    expect(job['resourceKey']).toMatch(/^user:#[\w-]{22}$/);
  });

  it('is not sent again for a client that says that it is the same request', async () => {
    const headers = { 'idempotency-key': 'reset-1' };
    const first = await request({ userId: '46' }, headers);
    const job = await test.api.jobInStatus(String(first.body.jobId), 'done');
    expect(job['idempotencyKey']).toMatch(/^send_email:[\w-]{32}$/);

    const second = await request({ userId: '46' }, headers);
    expect(second).toMatchObject({ status: 202, body: first.body });
    expect(second.headers.get('idempotent-replayed')).toBe('true');
    expect(mailer.sent.filter(({ text }) => text.includes('account 46'))).toHaveLength(1);
  });
});

describe('a request whose answer was lost in a crash', () => {
  const redisUrl = requireRedisUrl();
  const prefix = uniquePrefix();
  let redis: Redis;
  let test: TestApp;

  beforeAll(async () => {
    redis = new Redis(redisUrl);
    test = await startApp({ REDIS_URL: redisUrl, FENCELINE_PREFIX: prefix });
  });
  afterAll(async () => {
    await test.close();
    await redis.quit();
  });

  it('does not send the e-mail again: the job knows', async () => {
    const mailer = new HeldMailer(test.app);
    const headers = { 'idempotency-key': '"k-1"' };
    const first = await test.api.post('/emails', EMAIL, headers);
    const sent = await test.api.jobInStatus(String(first.body.jobId), 'done');
    // What a process leaves that dies between the enqueue and the answer.
    const records = await redis.keys(`${prefix}:idempotency:*`);
    expect(records).toHaveLength(1);
    await redis.del(records);

    const second = await test.api.post('/emails', EMAIL, { 'idempotency-key': 'k-1' });
    expect(second.headers.get('idempotent-replayed')).toBeNull();
    expect(second.body.jobId).not.toBe(first.body.jobId);
    expect(await test.api.jobInStatus(String(second.body.jobId), 'done')).toMatchObject({
      attempt: 0,
      result: sent['result'],
    });
    expect(mailer.sent).toHaveLength(1);
  });

  it('does send it for another client that uses the same key', async () => {
    const mailer = new HeldMailer(test.app);
    for (const authorization of ['Bearer one', 'Bearer two']) {
      const headers = { 'idempotency-key': 'k-2', authorization };
      const { body } = await test.api.post('/emails', EMAIL, headers);
      await test.api.jobInStatus(String(body.jobId), 'done');
    }
    expect(mailer.sent).toHaveLength(2);
  });
});
