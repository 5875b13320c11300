import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { JOB_STATUSES, QueueInspector } from '@fenceline/nestjs';
import type { ApiResponse } from './support/api-client.js';
import { startApp, STORES, type TestApp } from './support/app.js';

const EMAIL = { userId: '42', email: 'ada@example.com', template: 'welcome' };
const JSON_TYPE = { 'content-type': 'application/json' };

describe.each(STORES)('bad input, $store store', ({ env }) => {
  let test: TestApp;

  beforeAll(async () => {
    test = await startApp(env);
  });
  afterAll(() => test.close());

  /** Whatever was wrong: a complete problem document, and nothing stored. */
  function expectProblem({ status, type, body }: ApiResponse, expected: Record<string, unknown>): void {
    expect(type).toBe('application/problem+json');
    expect(body).toMatchObject({
      type: expect.stringMatching(/^urn:fenceline:problem:[a-z-]+$/),
      title: expect.any(String),
      detail: expect.any(String),
      instance: expect.stringMatching(/^\//),
      ...expected,
    });
    expect(status).toBe(body.status);
    expect(JSON.stringify(body)).not.toMatch(/node_modules|\.js:\d+/);
  }

  it.each([
    ['a missing property', { userId: '42', template: 'welcome' }, 'email'],
    ['a property of a wrong type', { ...EMAIL, userId: 42 }, 'userId'],
    ['an empty property', { ...EMAIL, userId: '' }, 'userId'],
    ['a property that is too long', { ...EMAIL, userId: 'x'.repeat(129) }, 'userId'],
    ['a bad address', { ...EMAIL, email: 'ada' }, 'email'],
    ['two addresses', { ...EMAIL, email: 'ada@example.com, bob@example.com' }, 'email'],
    [
      'an address that adds a header',
      { ...EMAIL, email: 'ada@example.com\r\nBcc: bob@example.com' },
      'email',
    ],
    ['an unknown template', { ...EMAIL, template: 'newsletter' }, 'template'],
    ['a template named like a method', { ...EMAIL, template: 'toString' }, 'template'],
    ['an unknown property', { ...EMAIL, delay: 5 }, 'delay'],
    ['a jobId of a wrong type', { ...EMAIL, jobId: 7 }, 'jobId'],
    ['a jobId of null', { ...EMAIL, jobId: null }, 'jobId'],
    ['an empty jobId', { ...EMAIL, jobId: '' }, 'jobId'],
    ['a jobId that no URL can hold', { ...EMAIL, jobId: '..' }, 'jobId'],
    ['a jobId with braces', { ...EMAIL, jobId: '{jobs}' }, 'jobId'],
    ['a jobId that is too long', { ...EMAIL, jobId: 'x'.repeat(129) }, 'jobId'],
    ['a list', [EMAIL], 'body'],
    ['an empty list', [], 'body'],
  ])('refuses %s by name', async (_what, body, path) => {
    const response = await test.api.post('/emails', body);

    expectProblem(response, { status: 400, title: 'Bad Request', instance: '/emails' });
    expect(response.body.errors?.map((error) => error.path)).toEqual([path]);
    expect(response.body.errors?.[0]?.messages[0]).toMatch(/\w/);
  });

  it('names every wrong property at once', async () => {
    const response = await test.api.post('/emails', {});
    expectProblem(response, { status: 400, code: 'REQUEST_INVALID' });
    expect(response.body.errors?.map(({ path }) => path)).toEqual(['userId', 'email', 'template']);
  });

  it('takes no body for an empty one', async () => {
    const response = await test.api.send('POST', '/emails', undefined, JSON_TYPE);
    expectProblem(response, { status: 400, code: 'REQUEST_INVALID' });
  });

  it.each(['{"userId":', '"text"', 'null', 'userId=42', '{"a":1}x'])(
    'refuses the malformed JSON %s',
    async (text) => {
      const response = await test.api.send('POST', '/emails', text, JSON_TYPE);
      expectProblem(response, { status: 400, code: 'MALFORMED_JSON' });
    },
  );

  it('refuses a body that is not JSON', async () => {
    const form = { 'content-type': 'application/x-www-form-urlencoded' };
    const response = await test.api.send('POST', '/emails', 'userId=42', form);
    expectProblem(response, { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' });
  });

  it('refuses an unknown charset', async () => {
    const response = await test.api.send('POST', '/emails', '{}', {
      'content-type': 'application/json; charset=klingon',
    });
    expectProblem(response, { status: 415, code: 'UNSUPPORTED_MEDIA_TYPE' });
  });

  it('refuses a body that is too large', async () => {
    const response = await test.api.post('/emails', { ...EMAIL, userId: 'x'.repeat(200_000) });
    expectProblem(response, { status: 413, code: 'BODY_TOO_LARGE', title: 'Payload Too Large' });
  });

  it.each([
    ['GET', '/nowhere', '/nowhere'],
    ['DELETE', '/emails', '/emails'],
    ['GET', '/jobs/no-such-job/payload?token=1', '/jobs/no-such-job/payload'],
  ])('answers 404 to %s %s', async (method, path, instance) => {
    expectProblem(await test.api.send(method, path), { status: 404, code: 'NOT_FOUND', instance });
  });

  it('answers 404 to the id of a job that is not there', async () => {
    expectProblem(await test.api.get('/jobs/no-such-job'), { status: 404, code: 'JOB_NOT_FOUND' });
  });

  it('answers 400 to a path that cannot be decoded', async () => {
    expectProblem(await test.api.get('/jobs/%E0%A4%A'), { status: 400 });
  });

  it.each([
    ['/jobs', 'status'],
    ['/jobs?status=blue', 'status'],
    ['/jobs?status=done&status=dead', 'status'],
    ['/jobs?status=done&limit=0', 'limit'],
    ['/jobs?status=done&limit=101', 'limit'],
    ['/jobs?status=done&limit=1.5', 'limit'],
    ['/jobs?status=done&limit=many', 'limit'],
    ['/jobs?status=done&cursor=nonsense', 'cursor'],
    ['/jobs?status=done&page=2', 'page'],
  ])('refuses GET %s', async (path, field) => {
    const response = await test.api.get(path);
    expectProblem(response, { status: 400, instance: '/jobs' });
    expect(response.body.errors?.map((error) => error.path)).toEqual([field]);
  });

  it.each([
    [{ tenantId: 'a' }, 'resourceId'],
    [{ tenantId: 'a}b', resourceId: 'c' }, 'tenantId'],
    [{ tenantId: 'a', resourceId: 'c:d' }, 'resourceId'],
    [{ tenantId: 'a', resourceId: 'c', version: 3 }, 'version'],
  ])('refuses the cache rebuild %j', async (body, path) => {
    const response = await test.api.post('/cache-rebuilds', body);
    expectProblem(response, { status: 400, code: 'REQUEST_INVALID' });
    expect(response.body.errors?.map((error) => error.path)).toEqual([path]);
  });

  it('refuses to read a cache whose name no copy can have', async () => {
    expectProblem(await test.api.get('/caches/a%7Bb/c'), { status: 400, code: 'REQUEST_INVALID' });
  });

  it('stored nothing of all this', async () => {
    for (const status of JOB_STATUSES) {
      expect((await test.api.get(`/jobs?status=${status}`)).body).toEqual({ jobs: [] });
    }
  });

  it('tells a client nothing about an error that nobody expected', async () => {
    const broken = jest.spyOn(test.app.get(QueueInspector), 'get');
    broken.mockRejectedValueOnce(new Error('connect to db-7.internal as root'));
    const response = await test.api.get('/jobs/1');
    expectProblem(response, { status: 500, code: 'INTERNAL', title: 'Internal Server Error' });
    expect(JSON.stringify(response.body)).not.toContain('db-7');
  });
});
