import { afterEach, describe, expect, it } from '@jest/globals';
import { startApp, STORES, type TestApp } from './support/app.js';

let test: TestApp | undefined;
afterEach(async () => {
  await test?.close();
  test = undefined;
});

describe.each(STORES)('health, $store store', ({ env }) => {
  it('is up on all routes while nothing is wrong', async () => {
    test = await startApp(env);
    const all = await test.api.get('/health');
    expect(all.status).toBe(200);
    expect(all.body).toMatchObject({
      status: 'ok',
      details: { queue: { status: 'up' }, leases: { status: 'up' }, worker: { status: 'up' } },
    });
    expect(all.headers.get('cache-control')).toContain('no-store');

    const live = await test.api.get('/health/live');
    expect(live.status).toBe(200);
    expect(live.body).toMatchObject({ status: 'ok', details: {} });

    const ready = await test.api.get('/health/ready');
    expect(ready.status).toBe(200);
    expect(ready.body).toMatchObject({ details: { queue: { status: 'up' }, worker: { status: 'up' } } });
  });
});
