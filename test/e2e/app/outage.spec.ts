import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { requireRedisUrl, startApp, type TestApp, uniquePrefix } from './support/app.js';
import { TcpProxy } from '../../support/tcp-proxy.js';
import { eventually } from './support/eventually.js';

const EMAIL = { userId: '42', email: 'ada@example.com', template: 'welcome' };

// A call gives Redis 5 s (commandTimeoutMs) to come back before it fails.
jest.setTimeout(20_000);

describe('while Redis is away', () => {
  let proxy: TcpProxy;
  let test: TestApp;

  beforeAll(async () => {
    proxy = await TcpProxy.start(requireRedisUrl());
    test = await startApp({ REDIS_URL: proxy.url, FENCELINE_PREFIX: uniquePrefix() });
    await test.api.jobInStatus(await test.api.enqueueEmail({ jobId: 'before' }), 'done');
    proxy.cut();
  });
  afterAll(async () => {
    proxy.mend();
    await test.close();
    await proxy.stop();
  });

  it('is not ready, but alive, and says so in time', async () => {
    const start = performance.now();
    const [live, ready, all] = await Promise.all(
      ['/health/live', '/health/ready', '/health'].map((path) => test.api.get(path)),
    );
    expect(performance.now() - start).toBeLessThan(1_500);
    expect(live?.status).toBe(200);
    expect(ready?.status).toBe(503);
    expect(ready?.body).toMatchObject({ status: 'error', error: { queue: { status: 'down' } } });
    expect(all?.status).toBe(503);
  });

  it.each([
    ['POST', '/emails', JSON.stringify(EMAIL), 'ENQUEUE_REFUSED'],
    ['GET', '/jobs/before', undefined, 'STORE_UNAVAILABLE'],
    ['GET', '/jobs?status=done', undefined, 'STORE_UNAVAILABLE'],
  ])('answers %s %s with 503 and when to try again', async (method, path, body, code) => {
    const response = await test.api.send(method, path, body, { 'content-type': 'application/json' });
    expect(response.status).toBe(503);
    expect(response.type).toBe('application/problem+json');
    expect(response.body).toMatchObject({ code, title: 'Service Unavailable' });
    expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.stringify(response.body)).not.toContain('127.0.0.1');
  });

  it.each(['/emails', '/invoices'])(
    'refuses POST %s with a key, which it cannot protect now',
    async (path) => {
      const response = await test.api.post(path, EMAIL, { 'idempotency-key': 'k' });
      expect(response).toMatchObject({
        status: 503,
        type: 'application/problem+json',
        body: { code: 'IDEMPOTENCY_STORE_UNAVAILABLE', title: 'Service Unavailable' },
      });
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
    },
  );

  it('still answers from the source of a cache', async () => {
    const { status, body } = await test.api.get('/caches/acme/prices');
    expect(status).toBe(200);
    expect(body).toMatchObject({ servedFrom: 'source' });
  });

  it('works again when Redis is back', async () => {
    proxy.mend();
    await eventually(
      async () => (await test.api.get('/health/ready')).status,
      (status) => status === 200,
    );
    await test.api.jobInStatus(await test.api.enqueueEmail(), 'done');
    expect((await test.api.get('/jobs?status=done')).body.jobs).toHaveLength(2);
  });
});
