/** Syncs whose lock is gone while they still work: what they write must not count. */
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Redis } from 'ioredis';
import { MemoryLockStore } from '#lib/store/memory/memory-lock-store.js';
import { RedisLockStore } from '#lib/store/redis/redis-lock-store.js';
import { SqlClient } from '../../../src/invoices/sql-client.js';
import { Accounting, type HeldCall } from './support/accounting.js';
import type { ApiResponse } from './support/api-client.js';
import { requireRedisUrl, startApp, STORES, type TestApp, uniquePrefix } from './support/app.js';
import { eventually } from './support/eventually.js';
import { PostgresServer } from './support/postgres-server.js';

jest.setTimeout(60_000);

/** Starts a sync and stops it in the accounting system. */
async function startHeld(
  { api }: TestApp,
  accounting: Accounting,
  invoiceId: string,
): Promise<{ readonly call: HeldCall; readonly response: Promise<ApiResponse> }> {
  const call = accounting.holdNext();
  const response = api.post(`/invoices/${invoiceId}/sync`);
  return { call: await call, response };
}

function expectStale(response: ApiResponse): void {
  expect(response).toMatchObject({
    status: 409,
    type: 'application/problem+json',
    body: { code: 'STALE_FENCE' },
  });
  expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
}

describe.each(STORES)('a sync whose lease ran out, $store store', ({ env }) => {
  let test: TestApp;
  let accounting: Accounting;

  beforeAll(async () => {
    test = await startApp({ ...env, INVOICE_LOCK_TTL_MS: '300', INVOICE_LOCK_WAIT_MS: '20000' });
    accounting = new Accounting(test.app);
  });
  afterAll(() => test.close());
  afterEach(() => {
    accounting.failHeld();
    for (const mute of mutes.splice(0)) mute.mockRestore();
  });

  const mutes: { mockRestore(): void }[] = [];
  /** As if each renewal hung in the network. */
  function muteRenewals(): void {
    for (const { prototype } of [MemoryLockStore, RedisLockStore]) {
      mutes.push(jest.spyOn(prototype, 'renew').mockImplementation(() => new Promise(() => {})));
    }
  }

  it('is told so, and cannot overwrite the result of the next one', async () => {
    const invoiceId = await test.api.createInvoice();
    muteRenewals();
    const { call, response } = await startHeld(test, accounting, invoiceId);
    const claimed = (await test.api.get(`/invoices/${invoiceId}`)).body;

    const next = await test.api.post(`/invoices/${invoiceId}/sync`);
    expect(next).toMatchObject({ status: 200, body: { status: 'synced' } });
    expect(next.body['fencingToken']).toBeGreaterThan(Number(claimed['fencingToken']));
    expect(call.signal.aborted).toBe(true);
    expect(call.signal.reason).toMatchObject({ code: 'LOCK_LOST' });

    call.answer('ACC-LATE');
    expectStale(await response);
    expect((await test.api.get(`/invoices/${invoiceId}`)).body).toEqual(next.body);
  });

  it('cannot call the next one back with a failure, either', async () => {
    const invoiceId = await test.api.createInvoice();
    muteRenewals();
    const { call, response } = await startHeld(test, accounting, invoiceId);
    const next = await startHeld(test, accounting, invoiceId);

    call.fail(new Error('aborted'));
    expect(await response).toMatchObject({ status: 409, body: { code: 'LOCK_LOST' } });
    next.call.answer('ACC-NEXT');
    await next.response;
    expect((await test.api.get(`/invoices/${invoiceId}`)).body).toMatchObject({
      status: 'synced',
      externalId: 'ACC-NEXT',
    });
  });

  it('may still write while nobody came after it, but hears that it may have been overtaken', async () => {
    const invoiceId = await test.api.createInvoice();
    muteRenewals();
    const { call, response } = await startHeld(test, accounting, invoiceId);
    await eventually(
      () => call.signal.aborted,
      (aborted) => aborted,
    );
    call.answer('ACC-SLOW');
    expect(await response).toMatchObject({ status: 409, body: { code: 'LOCK_LOST' } });
    expect(await test.api.post(`/invoices/${invoiceId}/sync`)).toMatchObject({
      status: 200,
      body: { status: 'synced', externalId: 'ACC-SLOW' },
    });
  });

  it('never takes the fence of a row back, whatever order late answers come in', async () => {
    const invoiceId = await test.api.createInvoice();
    const fences: number[] = [];
    const lookAtFence = async () => {
      const [row] = await test.app
        .get(SqlClient)
        .query('SELECT fence FROM invoices WHERE id = $1', [invoiceId]);
      fences.push(Number(row?.['fence']));
    };
    muteRenewals();
    const syncs: Awaited<ReturnType<typeof startHeld>>[] = [];
    for (let i = 0; i < 4; i++) {
      syncs.push(await startHeld(test, accounting, invoiceId));
      await lookAtFence();
    }
    const statuses: number[] = [];
    for (const i of [1, 3, 0, 2]) {
      syncs[i]?.call.answer(`ACC-${i}`);
      statuses.push((await syncs[i]?.response)?.status ?? 0);
      await lookAtFence();
    }

    expect(statuses).toEqual([409, 200, 409, 409]);
    expect(fences).toEqual(fences.toSorted((a, b) => a - b));
    expect(new Set(fences).size).toBe(4);
    expect((await test.api.get(`/invoices/${invoiceId}`)).body).toMatchObject({ externalId: 'ACC-3' });
  });
});

describe('two processes that share a Redis and a Postgres server', () => {
  const redisUrl = requireRedisUrl();
  const prefix = uniquePrefix();
  let postgres: PostgresServer;
  let redis: Redis;
  let apps: readonly [TestApp, TestApp];

  beforeAll(async () => {
    postgres = await PostgresServer.start();
    redis = new Redis(redisUrl);
    const start = () =>
      startApp({ REDIS_URL: redisUrl, FENCELINE_PREFIX: prefix, DATABASE_URL: postgres.url });
    apps = await Promise.all([start(), start()]);
  });
  afterAll(async () => {
    for (const { close } of apps) await close();
    await redis.quit();
    await postgres.stop();
  });

  it('make the table once when both need it at the same moment', async () => {
    await Promise.all(apps.map(({ api }) => api.createInvoice()));
    const [row] = await postgres.query('SELECT count(*) FROM invoices');
    expect(Number(row?.['count'])).toBe(2);
  });

  it('see each other, and book an invoice once', async () => {
    const [one, two] = apps;
    const accountings = [new Accounting(one.app), new Accounting(two.app)];
    const invoiceId = await one.api.createInvoice();
    const answers = await Promise.all(
      Array.from({ length: 6 }, (_, i) => (i % 2 ? one : two).api.post(`/invoices/${invoiceId}/sync`)),
    );
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
    expect(new Set(answers.map(({ body }) => body['externalId'])).size).toBe(1);
    const booked = accountings.map((accounting) => accounting.timesBooked(invoiceId));
    expect(booked.toSorted((a, b) => a - b)).toEqual([0, 1]);
  });

  it('lose nothing when the lock was deleted while the first one worked', async () => {
    const [one, two] = apps;
    const invoiceId = await one.api.createInvoice();
    const { call, response } = await startHeld(one, new Accounting(one.app), invoiceId);

    const keys = await redis.keys(`${prefix}:lock:*`);
    expect(keys.length).toBeGreaterThan(0);
    await redis.del(keys);
    const next = await two.api.post(`/invoices/${invoiceId}/sync`);
    expect(next).toMatchObject({ status: 200, body: { status: 'synced' } });

    call.answer('ACC-LATE');
    expectStale(await response);
    expect((await one.api.get(`/invoices/${invoiceId}`)).body).toEqual(next.body);
  });
});

describe('while the database is away', () => {
  it('answers 503 and when to try again, and works once it is there', async () => {
    const postgres = await PostgresServer.start();
    const { url } = postgres;
    const test = await startApp({ DATABASE_URL: url });
    try {
      await postgres.stop();
      const response = await test.api.get('/invoices/1');
      expect(response).toMatchObject({ status: 503, body: { code: 'DATABASE_UNAVAILABLE' } });
      expect(Number(response.headers.get('retry-after'))).toBeGreaterThan(0);
      expect(JSON.stringify(response.body)).not.toContain('127.0.0.1');
      expect((await test.api.get('/health/ready')).status).toBe(200);
    } finally {
      await test.close();
    }
  });
});
