import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startApp, STORES, type TestApp } from './support/app.js';

describe.each(STORES)('jobs, $store store', ({ env }) => {
  let test: TestApp;
  const jobIds: string[] = [];

  beforeAll(async () => {
    test = await startApp({ ...env, ADMIN_TOKEN: 'correct horse' });
    for (let i = 0; i < 5; i++) jobIds.push(await test.api.enqueueEmail({ userId: String(i) }));
    for (const jobId of jobIds) await test.api.jobInStatus(jobId, 'done');
  });
  afterAll(() => test.close());

  function redrive(jobId: string | undefined, headers?: Record<string, string>) {
    return test.api.post(`/jobs/${jobId}/redrive`, undefined, headers);
  }

  it('lists jobs page by page, each exactly once', async () => {
    const seen: unknown[] = [];
    const pageSizes: (number | undefined)[] = [];
    let cursor: string | undefined;
    do {
      const next = cursor === undefined ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { status, body } = await test.api.get(`/jobs?status=done&limit=2${next}`);
      expect(status).toBe(200);
      seen.push(...(body.jobs ?? []).map((job) => job.jobId));
      pageSizes.push(body.jobs?.length);
      cursor = body.nextCursor;
    } while (cursor !== undefined);

    expect(new Set(seen)).toEqual(new Set(jobIds));
    expect(pageSizes.slice(0, 3)).toEqual([2, 2, 1]);
  });

  it('shows listed jobs as it shows single ones', async () => {
    const { body } = await test.api.get('/jobs?status=done&limit=1');
    const [job] = body.jobs ?? [];
    expect((await test.api.get(`/jobs/${job?.jobId}`)).body).toEqual(job);
  });

  it('lists nothing where there is nothing', async () => {
    expect((await test.api.get('/jobs?status=dead')).body).toEqual({ jobs: [] });
  });

  it.each([
    ['no header', {}],
    ['a wrong token', { authorization: 'Bearer wrong' }],
    ['a beginning of the token', { authorization: 'Bearer correct' }],
    ['another scheme', { authorization: 'Basic correct horse' }],
  ])('refuses a redrive with %s', async (_what, headers) => {
    const response = await redrive(jobIds[0], headers);
    expect(response.status).toBe(401);
    expect(response.type).toBe('application/problem+json');
    expect(response.body).toMatchObject({ code: 'ADMIN_TOKEN_WRONG' });
    expect(response.headers.get('www-authenticate')).toBe('Bearer');
  });

  it('refuses to redrive a job that is not dead', async () => {
    const response = await redrive(jobIds[0], { authorization: 'Bearer correct horse' });
    expect(response.status).toBe(409);
    expect(response.body).toMatchObject({
      code: 'ILLEGAL_TRANSITION',
      detail: expect.stringContaining('done'),
    });
  });

  it('refuses to redrive a job that is not there', async () => {
    const response = await redrive('no-such-job', { authorization: 'Bearer correct horse' });
    expect(response.status).toBe(404);
    expect(response.body).toMatchObject({ code: 'JOB_NOT_FOUND' });
  });

  it('refuses every redrive while no admin token is configured', async () => {
    const withoutToken = await startApp(env);
    try {
      for (const headers of [{}, { authorization: 'Bearer ' }, { authorization: 'Bearer undefined' }]) {
        const response = await withoutToken.api.post('/jobs/any/redrive', undefined, headers);
        expect(response.status).toBe(403);
        expect(response.type).toBe('application/problem+json');
        expect(response.body).toMatchObject({ code: 'ADMIN_DISABLED' });
      }
    } finally {
      await withoutToken.close();
    }
  });
});
