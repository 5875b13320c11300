/** `@Idempotent()`: the cases of docs/idempotency.md that need one request at a time. On both frameworks and stores. */
import { describe, expect, it } from '@jest/globals';
import {
  ClassSerializerInterceptor,
  type CallHandler,
  type ExecutionContext,
  type NestInterceptor,
} from '@nestjs/common';
import { Reflector } from '@nestjs/core';
import { map, type Observable } from 'rxjs';
import { eventually } from '../support/eventually.js';
import {
  CASES,
  expectProblem,
  expectReplay,
  IdempotentApp,
  KEY,
  useIdempotentApp,
} from '../support/idempotent-app.js';

/** As apps have them: it changes what is sent, and it is further out than any interceptor of a route. */
class Envelope implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(map((data: unknown) => (isObject(data) ? { data } : data)));
  }
}

describe.each(CASES)('@Idempotent() on $adapter with $store', (given) => {
  const app = useIdempotentApp(given);

  describe('the key', () => {
    it('is required', async () => {
      expectProblem(await app().post('/orders', {}, {}), 400, 'IDEMPOTENCY_KEY_MISSING');
      expect(app().runs.count).toBe(0);
    });

    it('need not be given where it is not required', async () => {
      expect(await app().post('/optional', {}, {})).toMatchObject({ status: 201, json: { run: 1 } });
      expect(await app().post('/optional', {}, {})).toMatchObject({ status: 201, json: { run: 2 } });
      expect(app().runs.contexts).toEqual([undefined, undefined]);
    });

    it.each(['""', '"a', 'a"b', 'two words', '"é"', 'ключ', '"a" "b"', '"a\\b"'])(
      'is refused as %s',
      async (key) => {
        const headers = { 'idempotency-key': Buffer.from(key).toString('latin1') };
        expectProblem(await app().post('/orders', {}, headers), 400, 'IDEMPOTENCY_KEY_MALFORMED');
        expect(app().runs.count).toBe(0);
      },
    );

    it('has at most 255 characters, quotes not counted', async () => {
      const longest = 'k'.repeat(255);
      expect(await app().post('/orders', {}, { 'idempotency-key': `"${longest}"` })).toMatchObject({
        status: 201,
      });
      const reply = await app().post('/orders', {}, { 'idempotency-key': `${longest}k` });
      expectProblem(reply, 400, 'IDEMPOTENCY_KEY_TOO_LONG');
      expect(app().runs.count).toBe(1);
    });

    it('means the same quoted and bare', async () => {
      const first = await app().post('/orders', {}, { 'idempotency-key': '"a:{b}-1"' });
      expectReplay(await app().post('/orders', {}, { 'idempotency-key': 'a:{b}-1' }), first);
      expect(app().runs.count).toBe(1);
    });

    it('may be a field of the body', async () => {
      expectProblem(await app().post('/by-field', { other: 1 }), 400, 'IDEMPOTENCY_KEY_MISSING');
      expectProblem(await app().post('/by-field', { requestId: 7 }), 400, 'IDEMPOTENCY_KEY_MALFORMED');
      const first = await app().post('/by-field', { requestId: 'r-1' }, {});
      expectReplay(await app().post('/by-field', { requestId: 'r-1' }, {}), first);
      expect(await app().post('/by-field', { requestId: 'r-2' }, {})).toMatchObject({
        status: 201,
        json: { run: 2 },
      });
    });

    it('is one of its principal, its method and its route', async () => {
      const asAnn = { ...KEY, authorization: 'Bearer ann' };
      const asBob = { ...KEY, authorization: 'Bearer bob' };
      expect(await app().post('/orders', { for: 'ann' }, asAnn)).toMatchObject({ json: { run: 1 } });
      expect(await app().post('/orders', { for: 'bob' }, asBob)).toMatchObject({ json: { run: 2 } });
      expect(await app().post('/optional', {}, asAnn)).toMatchObject({ json: { run: 3 } });
      expect(await app().post('/orders', { for: 'ann' }, asAnn)).toMatchObject({ json: { run: 1 } });
    });
  });

  describe('done', () => {
    it('gives the stored status, body and allow-listed headers', async () => {
      const first = await app().post('/orders', { amount: 7, note: 'é😀', nested: { a: 1, b: [] } });
      expect(first).toMatchObject({ status: 201, json: { run: 1 } });
      const reply = await app().post('/orders', { note: 'é😀', nested: { b: [], a: 1 }, amount: 7 });
      expectReplay(reply, first);
      expect(reply.headers.get('location')).toBe('/orders/1');
      expect(app().runs.count).toBe(1);
      expect(app().seen()).toEqual(['started', 'done', 'replayed']);
    });

    it.each([
      ['/text', 201],
      ['/bytes', 200],
      ['/nothing', 204],
      ['/elsewhere', 303],
      ['/by-hand', 207],
      ['/orders/1/pay', 202],
    ])('works for %s', async (path, status) => {
      const first = await app().post(path);
      expect(first.status).toBe(status);
      const reply = await app().post(path);
      expectReplay(reply, first);
      expect(reply.headers.get('location')).toBe(first.headers.get('location'));
      expect(app().runs.count).toBe(1);
    });

    it.each([
      ['body', '/orders', { amount: 8 }],
      ['query', '/orders?dry=1', { amount: 7 }],
    ])('refuses another %s with 422', async (_part, path, body) => {
      await app().post('/orders', { amount: 7 });
      expectProblem(await app().post(path, body), 422, 'IDEMPOTENCY_CONFLICT');
      expect(app().runs.count).toBe(1);
      expect(app().seen()).toEqual(['started', 'done', 'conflict']);
    });

    it('refuses another path parameter with 422', async () => {
      await app().post('/orders/1/pay');
      expectProblem(await app().post('/orders/2/pay'), 422, 'IDEMPOTENCY_CONFLICT');
    });

    it('stores what was really sent, and sends just that', async () => {
      const wrapped = await IdempotentApp.start(given, (nest) =>
        nest.useGlobalInterceptors(new Envelope(), new ClassSerializerInterceptor(nest.get(Reflector))),
      );
      const first = await wrapped.post('/receipt');
      expect(first.text).toBe('{"data":{"id":1}}');
      expectReplay(await wrapped.post('/receipt'), first);
      await wrapped.http.close();
    });

    it('refuses a body that is nested without end', async () => {
      const response = await fetch(`${app().http.url}/orders`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...KEY },
        body: '['.repeat(20_000) + ']'.repeat(20_000),
      });
      expect(response.status).toBe(400);
      expect(await response.json()).toMatchObject({ code: 'IDEMPOTENCY_BODY_INCOMPARABLE' });
    });
  });

  describe('the handler failed', () => {
    it('frees the key after a 5xx', async () => {
      expect(await app().post('/broken')).toMatchObject({ status: 500 });
      expect(await app().post('/broken', { other: true })).toMatchObject({ status: 500 });
      expect(app().runs.count).toBe(2);
      expect(app().seen()).toEqual(['started', 'released', 'started', 'released']);
    });

    it('stores a 5xx where that is configured', async () => {
      const first = await app().post('/unavailable');
      expect(first).toMatchObject({ status: 503, json: { message: 'run 1' } });
      expectReplay(await app().post('/unavailable'), first);
    });

    it('stores a 4xx', async () => {
      const first = await app().post('/refusing');
      expect(first).toMatchObject({ status: 409, json: { message: 'run 1' } });
      expectReplay(await app().post('/refusing'), first);
      expect(app().runs.count).toBe(1);
    });

    it('frees the key after an answer that asks to be repeated', async () => {
      expect(await app().post('/not-now')).toMatchObject({ status: 429, json: { message: 'run 1' } });
      expect(await app().post('/not-now')).toMatchObject({ status: 429, json: { message: 'run 2' } });
    });

    it('goes by what an exception filter makes of the error', async () => {
      const first = await app().post('/missing');
      expect(first).toMatchObject({ status: 404, json: { message: 'run 1' } });
      expectReplay(await app().post('/missing'), first);
    });

    it('frees the key after a 4xx where that is configured', async () => {
      expect(await app().post('/refusing-unstored')).toMatchObject({
        status: 400,
        json: { message: 'run 1' },
      });
      expect(await app().post('/refusing-unstored')).toMatchObject({
        status: 400,
        json: { message: 'run 2' },
      });
    });
  });

  describe('refused before the handler', () => {
    it('stores nothing when a guard refuses', async () => {
      expect(await app().post('/guarded')).toMatchObject({ status: 403 });
      expect(app().seen()).toEqual([]);
      expect(await app().post('/guarded', { other: 1 }, { ...KEY, 'x-token': 'good' })).toMatchObject({
        status: 201,
      });
    });

    it('stores nothing when a pipe refuses, and takes the mended request', async () => {
      expect(await app().post('/validated', { amount: 'much' })).toMatchObject({ status: 400 });
      expect(app().seen()).toEqual(['started', 'released']);
      const first = await app().post('/validated', { amount: 7 });
      expect(first).toMatchObject({ status: 201, json: { run: 1, order: { amount: 7 } } });
      expectReplay(await app().post('/validated', { amount: 7 }), first);
    });
  });

  describe('an answer that cannot be kept', () => {
    it.each([
      ['/large', 201, /x{2000}/],
      ['/file', 201, /^first second$/],
      ['/streamed', 201, /^first second$/],
    ])('of %s is given in full once, and never again', async (path, status, body) => {
      const first = await app().post(path);
      expect(first.text).toMatch(body);
      expect([200, status]).toContain(first.status);
      await eventually(() => app().seen().includes('unreplayable'));
      const reply = await app().post(path);
      expectProblem(reply, 409, 'IDEMPOTENCY_UNREPLAYABLE');
      expect(reply.json).toMatchObject({ originalStatus: first.status });
      expect(app().runs.count).toBe(1);
      expectProblem(await app().post(path, { other: true }), 422, 'IDEMPOTENCY_CONFLICT');
    });
  });
});

function isObject(value: unknown): value is object {
  return typeof value === 'object' && value !== null;
}
