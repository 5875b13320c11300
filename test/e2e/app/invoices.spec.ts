import { afterAll, afterEach, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { LockService } from '@fenceline/nestjs';
import { BookingRefusedError } from '../../../src/invoices/accounting-system.js';
import { Accounting } from './support/accounting.js';
import { startApp, STORES, type TestApp } from './support/app.js';
import { eventually } from './support/eventually.js';

jest.setTimeout(60_000);

describe.each(STORES)('invoices, $store store', ({ env }) => {
  let test: TestApp;
  let accounting: Accounting;

  beforeAll(async () => {
    test = await startApp({ ...env, INVOICE_LOCK_WAIT_MS: '10000' });
    accounting = new Accounting(test.app);
  });
  afterEach(() => accounting.failHeld());
  afterAll(() => test.close());

  function sync(invoiceId: string) {
    return test.api.post(`/invoices/${invoiceId}/sync`);
  }

  it('goes from the request to a booked invoice', async () => {
    const created = await test.api.post('/invoices', { customerId: 'acme', amountCents: 4_200 });
    const { invoiceId } = created.body;
    const pending = {
      invoiceId: expect.any(String),
      customerId: 'acme',
      amountCents: 4_200,
      status: 'pending',
      fencingToken: 0,
      createdAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    };
    expect(created.status).toBe(201);
    expect(created.body).toEqual(pending);
    expect(created.headers.get('location')).toBe(`/invoices/${invoiceId}`);
    expect((await test.api.get(`/invoices/${invoiceId}`)).body).toEqual(created.body);

    const synced = await sync(String(invoiceId));
    expect(synced.status).toBe(200);
    expect(synced.body).toEqual({
      ...pending,
      status: 'synced',
      externalId: expect.stringMatching(/^ACC-[0-9A-F]{12}$/),
      fencingToken: expect.any(Number),
      syncedAt: expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/),
    });
    expect((await test.api.get(`/invoices/${invoiceId}`)).body).toEqual(synced.body);
    expect(accounting.bookings.at(-1)).toEqual({
      idempotencyKey: `invoice:${invoiceId}`,
      customerId: 'acme',
      amountCents: 4_200,
    });
  });

  it('books an invoice once when it is synced twice at once, and again later', async () => {
    const invoiceId = await test.api.createInvoice();
    const call = accounting.holdNext();
    const first = sync(invoiceId);
    const { answer } = await call;
    expect((await test.api.get(`/invoices/${invoiceId}`)).body.status).toBe('syncing');

    const second = sync(invoiceId);
    await waitersOf(invoiceId, 1);
    answer('ACC-1');

    const [one, two] = await Promise.all([first, second]);
    expect(one).toMatchObject({ status: 200, body: { status: 'synced', externalId: 'ACC-1' } });
    expect(two).toMatchObject({ status: 200, body: one.body });
    expect(await sync(invoiceId)).toMatchObject({ status: 200, body: one.body });
    expect(accounting.timesBooked(invoiceId)).toBe(1);
  });

  it('books different invoices side by side', async () => {
    const [one, two] = [await test.api.createInvoice(), await test.api.createInvoice()];
    const call = accounting.holdNext();
    const first = sync(one);
    const { answer } = await call;
    expect((await sync(two)).status).toBe(200);
    answer('ACC-2');
    expect((await first).status).toBe(200);
  });

  it('keeps what the accounting system refuses as failed, for good', async () => {
    const invoiceId = await test.api.createInvoice({ amountCents: 100_000_001 });
    const failed = await sync(invoiceId);
    expect(failed).toMatchObject({
      status: 200,
      body: { status: 'failed', failure: expect.stringContaining('approval') },
    });
    expect(failed.body).not.toHaveProperty('externalId');
    expect(failed.body).not.toHaveProperty('syncedAt');

    expect(await sync(invoiceId)).toMatchObject({
      status: 409,
      type: 'application/problem+json',
      body: { code: 'INVOICE_FAILED', detail: expect.stringContaining('approval') },
    });
    expect(accounting.timesBooked(invoiceId)).toBe(1);
  });

  it('takes an interrupted sync up, with the same key and a higher token', async () => {
    const invoiceId = await test.api.createInvoice();
    accounting.nextErrors.push(new Error('socket hang up at 10.0.0.7'));
    const interrupted = await sync(invoiceId);
    expect(interrupted).toMatchObject({
      status: 503,
      type: 'application/problem+json',
      body: { code: 'ACCOUNTING_UNAVAILABLE' },
    });
    expect(Number(interrupted.headers.get('retry-after'))).toBeGreaterThan(0);
    expect(JSON.stringify(interrupted.body)).not.toContain('10.0.0.7');
    const between = (await test.api.get(`/invoices/${invoiceId}`)).body;
    expect(between.status).toBe('syncing');

    const { status, body } = await sync(invoiceId);
    expect({ status, body }).toMatchObject({ status: 200, body: { status: 'synced' } });
    expect(body['fencingToken']).toBeGreaterThan(Number(between['fencingToken']));
    const keys = accounting.bookings.slice(-2).map(({ idempotencyKey }) => idempotencyKey);
    expect(keys).toEqual([`invoice:${invoiceId}`, `invoice:${invoiceId}`]);
  });

  it('does not lock for long when the accounting system fails', async () => {
    const invoiceId = await test.api.createInvoice();
    accounting.nextErrors.push(new BookingRefusedError('No.'));
    await sync(invoiceId);
    const { holder } = await test.app.get(LockService).inspect(`invoice:${invoiceId}`);
    expect(holder).toBeUndefined();
  });

  it.each([
    ['GET', '/invoices/no-such-invoice'],
    ['POST', '/invoices/no-such-invoice/sync'],
    ['POST', `/invoices/${'x'.repeat(300)}/sync`],
  ])('answers 404 to %s %s', async (method, path) => {
    expect(await test.api.send(method, path)).toMatchObject({
      status: 404,
      type: 'application/problem+json',
      body: { code: 'INVOICE_NOT_FOUND' },
    });
  });

  it.each([
    [{ amountCents: 1 }, 'customerId'],
    [{ customerId: 'a b', amountCents: 1 }, 'customerId'],
    [{ customerId: 'acme' }, 'amountCents'],
    [{ customerId: 'acme', amountCents: 1.5 }, 'amountCents'],
    [{ customerId: 'acme', amountCents: 0 }, 'amountCents'],
    [{ customerId: 'acme', amountCents: '1' }, 'amountCents'],
    [{ customerId: 'acme', amountCents: 1e15 }, 'amountCents'],
    [{ customerId: 'acme', amountCents: 1, status: 'synced' }, 'status'],
  ])('refuses the invoice %j', async (body, path) => {
    const response = await test.api.post('/invoices', body);
    expect(response).toMatchObject({ status: 400, body: { code: 'REQUEST_INVALID' } });
    expect(response.body.errors?.map((error) => error.path)).toEqual([path]);
  });

  async function waitersOf(invoiceId: string, count: number): Promise<void> {
    await eventually(
      async () => (await test.app.get(LockService).inspect(`invoice:${invoiceId}`)).waiters.length,
      (waiters) => waiters === count,
    );
  }
});

describe.each(STORES)(
  'an invoice that is locked for longer than a request waits, $store store',
  ({ env }) => {
    let test: TestApp;
    let accounting: Accounting;

    beforeAll(async () => {
      test = await startApp({ ...env, INVOICE_LOCK_WAIT_MS: '50' });
      accounting = new Accounting(test.app);
    });
    afterEach(() => accounting.failHeld());
    afterAll(() => test.close());

    it('is answered with 409 and when to try again, which is not kept as the answer', async () => {
      const invoiceId = await test.api.createInvoice();
      const call = accounting.holdNext();
      const first = test.api.post(`/invoices/${invoiceId}/sync`);
      const { answer } = await call;

      const again = () =>
        test.api.post(`/invoices/${invoiceId}/sync`, undefined, { 'idempotency-key': 'sync-1' });
      const busy = await again();
      expect(busy).toMatchObject({
        status: 409,
        type: 'application/problem+json',
        body: { code: 'LOCK_TIMEOUT', title: 'Conflict' },
      });
      expect(busy.headers.get('retry-after')).toBe('1');
      expect(busy.body['detail']).not.toContain('waitMs');

      answer('ACC-3');
      const { body } = await first;
      expect(await again()).toMatchObject({ status: 200, body });
      expect(accounting.timesBooked(invoiceId)).toBe(1);
    });
  },
);
