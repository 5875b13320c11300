/** What strangers may do with the app, and what it tells them. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { OwnRedis } from '../../support/own-redis.js';
import { ApiClient } from './support/api-client.js';
import { AppProcess } from './support/app-process.js';
import { startApp, type TestApp } from './support/app.js';
import { eventually } from './support/eventually.js';

const ADMIN_TOKEN = 'admin-token-hunter2';
const REDIS_PASSWORD = 'redis-password-hunter2';
const EMAIL = 'ada-hunter2@example.com';

interface Route {
  readonly method: string;
  readonly path: string;
}

/** As Express has them, so that a route that is added later is tested too. */
function routesOf({ app }: TestApp): Route[] {
  const { router } = (app as NestExpressApplication).getHttpAdapter().getInstance();
  return router.stack.flatMap(({ route }) =>
    route === undefined
      ? []
      : route.stack.map(({ method }) => ({ method: method.toUpperCase(), path: route.path })),
  );
}

/** Those that change jobs which somebody else enqueued. */
const isAdministration = ({ method, path }: Route): boolean =>
  method !== 'GET' && /^\/(jobs|queues)\b/.test(path);

describe('routes that administer jobs', () => {
  let test: TestApp | undefined;
  afterEach(async () => {
    await test?.close();
    test = undefined;
  });

  it.each([
    ['no admin token is configured', {}, 403],
    ['the request carries none', { ADMIN_TOKEN }, 401],
  ])('are all closed while %s', async (_when, env, status) => {
    test = await startApp(env);
    const routes = routesOf(test).filter(isAdministration);
    expect(routes).toContainEqual({ method: 'POST', path: '/jobs/:jobId/redrive' });
    for (const { method, path } of routes) {
      const response = await test.api.send(method, path.replaceAll(/:\w+/g, 'any'));
      expect([path, response.status]).toEqual([path, status]);
    }
  });

  it('are the only ones that change jobs', async () => {
    test = await startApp({});
    const others = routesOf(test).filter((route) => route.method !== 'GET' && !isAdministration(route));
    // Each of these only enqueues, or works on what it created itself.
    expect(others.map(({ method, path }) => `${method} ${path}`).toSorted()).toEqual([
      'POST /cache-rebuilds',
      'POST /emails',
      'POST /invoices',
      'POST /invoices/:invoiceId/sync',
    ]);
  });
});

describe('what the app tells strangers', () => {
  let redis: OwnRedis;
  let outboxDir: string;
  let app: AppProcess;
  let api: ApiClient;

  beforeAll(async () => {
    outboxDir = await mkdtemp(join(tmpdir(), 'fenceline-outbox-'));
    redis = await OwnRedis.start();
    await redis.command('ACL', 'SETUSER', 'app', 'reset', 'on', `>${REDIS_PASSWORD}`, '~*', '&*', '+@all');
    const url = new URL(redis.url);
    url.username = 'app';
    url.password = REDIS_PASSWORD;
    const env = { PORT: '0', OUTBOX_DIR: outboxDir, REDIS_URL: url.href, ADMIN_TOKEN };
    // Nobody listens there, so its e-mails are retried.
    app = new AppProcess('main', { ...env, SMTP_URL: 'smtp://127.0.0.1:1' });
    api = new ApiClient((await app.url()).replace('localhost', '127.0.0.1'));
  });
  afterAll(async () => {
    app.kill('SIGKILL');
    await app.exited;
    await redis.close();
    await rm(outboxDir, { recursive: true });
  });

  const healthPages = async (): Promise<string> => {
    const pages = await Promise.all(
      ['/health', '/health/live', '/health/ready'].map((path) => api.get(path)),
    );
    return JSON.stringify(pages.map(({ body, headers }) => [body, [...headers]]));
  };

  it('holds no secret, whatever happens, and neither does its log', async () => {
    const jobId = await api.enqueueEmail({ email: EMAIL, jobId: 'job-of-ada' });
    const retrying = await api.jobInStatus(jobId, 'retrying');
    // What it would do with a payload that somebody else wrote.
    await redis.command('SET', 'fl:{jobs}:job:bad', `{"type":"send_email","payload":{"email":"${EMAIL}"}}`);
    const spec = `{"created_at":1,"type":"send_email","payload":{"email":"not-${EMAIL}@","userId":"1","template":"x"}}`;
    await redis.command('SET', 'fl:{jobs}:job:invalid', spec);
    await redis.command('RPUSH', 'fl:{jobs}:queued:5', 'bad', 'invalid');
    await redis.command('RPUSH', 'fl:{jobs}:wake', '1');
    const dead = await api.jobInStatus('invalid', 'dead');
    const refused = await api.post('/jobs/invalid/redrive', undefined, {
      authorization: `Bearer x${ADMIN_TOKEN}`,
    });
    const up = await healthPages();

    await redis.stop();
    await eventually(
      async () => (await api.get('/health/ready')).status,
      (status) => status === 503,
    );
    const down = await healthPages();
    const failed = await api.post('/emails', { userId: '42', email: EMAIL, template: 'welcome' });
    expect(failed.status).toBe(503);

    expect(up).toContain('"queue"');
    expect(down).toContain('the store did not answer within');
    const told = [
      up,
      down,
      ...[retrying, dead, refused.body, failed.body].map((body) => JSON.stringify(body)),
    ];
    const log = app.stdout + app.stderr;
    for (const event of ['retry_scheduled', 'payload_invalid', 'store_unavailable'])
      expect(log).toContain(event);
    for (const text of [...told, log]) {
      for (const secret of ['hunter2', ADMIN_TOKEN, REDIS_PASSWORD]) expect(text).not.toContain(secret);
    }
    for (const page of [up, down, JSON.stringify(failed.body)]) {
      for (const inner of [String(redis.port), 'job-of-ada']) expect(page).not.toContain(inner);
    }
  });
});
