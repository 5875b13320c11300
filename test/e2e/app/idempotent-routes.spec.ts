/** Every POST route answers a repeated request as it answered the first. */
import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { QueueAdmin } from '@fenceline/nestjs';
import { SqlClient } from '../../../src/invoices/sql-client.js';
import { Accounting } from './support/accounting.js';
import type { ApiResponse } from './support/api-client.js';
import { startApp, STORES, type TestApp } from './support/app.js';
import { eventually } from './support/eventually.js';

jest.setTimeout(60_000);

const EMAIL = { userId: '42', email: 'ada@example.com', template: 'welcome' };
const REBUILD = { tenantId: 'acme', resourceId: 'prices' };
const INVOICE = { customerId: 'acme', amountCents: 4_200 };

describe.each(STORES)('idempotent routes, $store store', ({ env }) => {
  let test: TestApp;
  let accounting: Accounting;

  beforeAll(async () => {
    test = await startApp({ ...env, ADMIN_TOKEN: 'secret' });
    accounting = new Accounting(test.app);
    await test.api.createInvoice();
  });
  afterEach(() => accounting.failHeld());
  afterAll(() => test.close());

  function post(path: string, body: unknown, key: string): Promise<ApiResponse> {
    return test.api.post(path, body, { 'idempotency-key': key });
  }

  function expectReplay(again: ApiResponse, first: ApiResponse): void {
    expect(again.headers.get('idempotent-replayed')).toBe('true');
    expect(first.headers.get('idempotent-replayed')).toBeNull();
    const { status, type, body } = first;
    expect(again).toMatchObject({ status, type });
    expect(again.body).toEqual(body);
    expect(again.headers.get('location')).toBe(first.headers.get('location'));
  }

  /** Once none is on its way; looked for in the order of its life, so that none slips through. */
  async function countJobs(): Promise<number> {
    const counts = async () => {
      const seen: number[] = [];
      for (const status of ['queued', 'blocked', 'processing', 'done']) {
        seen.push((await test.api.get(`/jobs?status=${status}&limit=100`)).body.jobs?.length ?? 0);
      }
      return seen;
    };
    const idle = await eventually(
      counts,
      ([queued, blocked, processing]) => !queued && !blocked && !processing,
    );
    return idle.at(-1) ?? 0;
  }

  async function countInvoices(): Promise<number> {
    const [row] = await test.app.get(SqlClient).query('SELECT count(*) FROM invoices');
    return Number(row?.['count']);
  }

  describe.each([
    ['/emails', EMAIL, { ...EMAIL, userId: '43' }, {}, 202],
    ['/cache-rebuilds', REBUILD, { ...REBUILD, resourceId: 'stock' }, {}, 202],
    ['/invoices', INVOICE, { ...INVOICE, amountCents: 1 }, {}, 201],
  ])('POST %s', (path, body, other, invalid, status) => {
    const count = path === '/invoices' ? countInvoices : countJobs;

    it('does it once, and answers a repeat with the same', async () => {
      const key = randomUUID();
      const before = await count();
      const first = await post(path, body, key);
      expect(first.status).toBe(status);
      expect(first.headers.get('location')).toMatch(/^\/\w+\/\S+$/);

      expectReplay(await post(path, body, key), first);
      expectReplay(await post(path, Object.fromEntries(Object.entries(body).toReversed()), key), first);
      expectReplay(await post(path, body, `"${key}"`), first);
      expect(await count()).toBe(before + 1);
    });

    it('refuses the key for another request', async () => {
      const key = randomUUID();
      expect((await post(path, body, key)).status).toBe(status);
      expect(await post(path, other, key)).toMatchObject({
        status: 422,
        type: 'application/problem+json',
        body: { status: 422, code: 'IDEMPOTENCY_CONFLICT', instance: path },
      });
    });

    it.each([
      ['an empty key', ''],
      ['a key with a space', 'a b'],
      ['a key that is too long', 'x'.repeat(256)],
    ])('refuses %s', async (_what, key) => {
      expect(await post(path, body, key)).toMatchObject({
        status: 400,
        type: 'application/problem+json',
        body: { code: expect.stringMatching(/^IDEMPOTENCY_KEY_/), instance: path },
      });
    });

    it('keeps no answer to an invalid request', async () => {
      const key = randomUUID();
      expect((await post(path, invalid, key)).body).toMatchObject({ code: 'REQUEST_INVALID' });
      expect((await post(path, body, key)).status).toBe(status);
    });

    it('asks for no key', async () => {
      for (let i = 0; i < 2; i++) {
        const response = await test.api.post(path, body);
        expect(response.status).toBe(status);
        expect(response.headers.get('idempotent-replayed')).toBeNull();
      }
    });
  });

  describe('POST /invoices/:id/sync', () => {
    it('does it once, and answers a repeat with the same, also while another key is used', async () => {
      const path = `/invoices/${await test.api.createInvoice()}/sync`;
      const first = await post(path, undefined, 'a');
      expect(first).toMatchObject({ status: 200, body: { status: 'synced' } });
      expectReplay(await post(path, undefined, 'a'), first);
      expect(await post(path, undefined, 'b')).toMatchObject({ status: 200, body: first.body });
      expect(accounting.timesBooked(String(first.body.invoiceId))).toBe(1);
    });

    it('refuses the key for another invoice', async () => {
      const [one, two] = [await test.api.createInvoice(), await test.api.createInvoice()];
      expect((await post(`/invoices/${one}/sync`, undefined, 'c')).status).toBe(200);
      expect(await post(`/invoices/${two}/sync`, undefined, 'c')).toMatchObject({
        status: 422,
        body: { code: 'IDEMPOTENCY_CONFLICT', instance: `/invoices/${two}/sync` },
      });
    });

    it('tells a repeat that comes too early when to come again', async () => {
      const path = `/invoices/${await test.api.createInvoice()}/sync`;
      const call = accounting.holdNext();
      const first = post(path, undefined, 'd');
      const { answer } = await call;
      const early = await post(path, undefined, 'd');
      expect(early).toMatchObject({
        status: 409,
        type: 'application/problem+json',
        body: { code: 'IDEMPOTENCY_BUSY' },
      });
      expect(Number(early.headers.get('retry-after'))).toBeGreaterThan(0);
      answer('ACC-D');
      const answered = await first;
      expectReplay(await post(path, undefined, 'd'), answered);
    });

    it('tries again after a failure on our side', async () => {
      const path = `/invoices/${await test.api.createInvoice()}/sync`;
      accounting.nextErrors.push(new Error('socket hang up'));
      expect((await post(path, undefined, 'e')).status).toBe(503);
      const second = await post(path, undefined, 'e');
      expect(second.status).toBe(200);
      expectReplay(await post(path, undefined, 'e'), second);
    });

    it('answers 404 until the invoice is there', async () => {
      const path = '/invoices/none/sync';
      for (let i = 0; i < 2; i++) {
        const response = await post(path, undefined, 'f');
        expect(response).toMatchObject({ status: 404, body: { code: 'INVOICE_NOT_FOUND' } });
        expect(response.headers.get('idempotent-replayed')).toBeNull();
      }
    });
  });

  describe('POST /jobs/:id/redrive', () => {
    const authorization = 'Bearer secret';

    it('redrives once, and answers a repeat with the same', async () => {
      const jobId = await test.api.enqueueEmail({ userId: '47' });
      const job = await test.api.jobInStatus(jobId, 'done');
      expect(job.status).toBe('done');
      const redrive = jest.spyOn(test.app.get(QueueAdmin), 'redrive').mockResolvedValue();
      const headers = { authorization, 'idempotency-key': 'r-1' };
      const first = await test.api.post(`/jobs/${jobId}/redrive`, undefined, headers);
      expect(first.status).toBe(202);
      expectReplay(await test.api.post(`/jobs/${jobId}/redrive`, undefined, headers), first);
      expect(redrive).toHaveBeenCalledTimes(1);
      redrive.mockRestore();
    });

    it('asks for the token before it looks for an answer', async () => {
      const headers = { 'idempotency-key': 'r-1' };
      expect((await test.api.post('/jobs/any/redrive', undefined, headers)).status).toBe(401);
    });
  });
});
