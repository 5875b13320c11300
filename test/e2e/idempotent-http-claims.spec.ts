/** `@Idempotent()` when requests meet, owners vanish or the store is away. On both frameworks and stores. */
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { StoreUnavailableError } from '@fenceline/nestjs';
import type { CallHandler, ExecutionContext, NestInterceptor } from '@nestjs/common';
import { timeout, type Observable } from 'rxjs';
import { eventually } from '../support/eventually.js';
import { ADAPTERS, startHttpApp } from '../support/http-app.js';
import {
  CASES,
  expectProblem,
  expectReplay,
  IdempotentApp,
  KEY,
  useIdempotentApp,
} from '../support/idempotent-app.js';
import { Routes, Runs } from '../support/idempotent-routes.js';

/** As apps have them, further out than any interceptor of a route. */
class Timeout implements NestInterceptor {
  intercept(_context: ExecutionContext, next: CallHandler): Observable<unknown> {
    return next.handle().pipe(timeout(150));
  }
}

describe.each(CASES)('claims of @Idempotent() on $adapter with $store', (given) => {
  const app = useIdempotentApp(given);

  describe('still running', () => {
    it('answers 409 with Retry-After, and gives the answer once there is one', async () => {
      const first = app().post('/held');
      await eventually(() => app().runs.count === 1);
      const reply = await app().post('/held');
      expectProblem(reply, 409, 'IDEMPOTENCY_BUSY');
      expect(Number(reply.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
      expectProblem(await app().post('/held', { other: true }), 422, 'IDEMPOTENCY_CONFLICT');
      app().runs.finishNext();
      const answer = await first;
      expectReplay(await app().post('/held'), answer);
      expect(app().runs.count).toBe(1);
    });

    it('runs one of many that come at once', async () => {
      const all = Array.from({ length: 20 }, () => app().post('/orders', { amount: 1 }));
      const replies = await Promise.all(all);
      expect(app().runs.count).toBe(1);
      for (const { status } of replies) expect([201, 409]).toContain(status);
      const created = replies.filter(({ status }) => status === 201);
      expect(new Set(created.map(({ text }) => text)).size).toBe(1);
      expect(created.filter(({ headers }) => headers.get('idempotent-replayed') === null)).toHaveLength(1);
    });

    it('waits for it where that is configured', async () => {
      const first = app().post('/waited-for');
      await eventually(() => app().runs.count === 1);
      const second = app().post('/waited-for');
      app().runs.finishNext();
      expectReplay(await second, await first);
      expect(app().runs.count).toBe(1);
    });

    it('waits no longer than is configured', async () => {
      const first = app().post('/waited-briefly');
      await eventually(() => app().runs.count === 1);
      const from = performance.now();
      expectProblem(await app().post('/waited-briefly'), 409, 'IDEMPOTENCY_BUSY');
      expect(performance.now() - from).toBeGreaterThanOrEqual(49);
      app().runs.finishNext();
      await first;
    });

    it('keeps the claim by renewing it for as long as the handler runs', async () => {
      const renew = jest.spyOn(app().store, 'renew');
      const first = app().post('/held');
      await eventually(() => renew.mock.calls.length >= 4);
      expectProblem(await app().post('/held'), 409, 'IDEMPOTENCY_BUSY');
      app().runs.finishNext();
      const answer = await first;
      expectReplay(await app().post('/held'), answer);
    });

    it('stores the answer to a client that hung up', async () => {
      const hangUp = new AbortController();
      const init = { method: 'POST', headers: { 'content-type': 'application/json', ...KEY }, body: '{}' };
      const first = fetch(`${app().http.url}/held`, { ...init, signal: hangUp.signal });
      await eventually(() => app().runs.count === 1);
      hangUp.abort();
      await expect(first).rejects.toMatchObject({ name: 'AbortError' });
      app().runs.finishNext();
      await eventually(() => app().seen().includes('done'));
      const reply = await app().post('/held');
      expect(reply).toMatchObject({ status: 201, json: { run: 1 } });
      expect(reply.headers.get('idempotent-replayed')).toBe('true');
    });
  });

  describe('the first one lost its claim', () => {
    it('is taken over, and its late answer is neither written nor given', async () => {
      const records = app().store;
      // As if its process were frozen or cut off: it renews nothing.
      const renew = jest.spyOn(records, 'renew').mockRejectedValue(new StoreUnavailableError('cut off'));
      const first = app().post('/held');
      await eventually(() => app().runs.count === 1);
      const [context] = app().runs.contexts;
      await eventually(() => context?.signal.aborted);
      expect(context?.signal.reason).toMatchObject({ code: 'IDEMPOTENCY_LOST' });
      renew.mockRestore();

      const second = eventually(async () => {
        const reply = await app().post('/held');
        return reply.status === 409 ? undefined : reply;
      });
      await eventually(() => app().runs.count === 2);
      expect(app().runs.contexts[1]?.fencingToken).toBeGreaterThan(context?.fencingToken ?? Infinity);
      app().runs.finishNext();
      const late = await first;
      expectProblem(late, 409, 'IDEMPOTENCY_LOST');
      expect(late.headers.get('retry-after')).toBe('1');
      app().runs.finishNext();
      expect(await second).toMatchObject({ status: 201, json: { run: 2 } });
      expectReplay(await app().post('/held'), await second);

      expect(
        app()
          .seen()
          .filter((event) => !['busy', 'replayed'].includes(event)),
      ).toEqual(['started', 'lost', 'taken_over', 'stale_refused', 'done']);
      expect(app().service.events.counts()).toMatchObject({ lost: 1, stale_refused: 1 });
    });
  });

  describe('the store is down', () => {
    beforeEach(() => {
      const records = app().store;
      jest.spyOn(records, 'begin').mockRejectedValue(new StoreUnavailableError('cut off'));
    });

    it('refuses with 503', async () => {
      const reply = await app().post('/orders');
      expectProblem(reply, 503, 'IDEMPOTENCY_STORE_UNAVAILABLE');
      expect(reply.headers.get('retry-after')).toBe('1');
      expect(app().runs.count).toBe(0);
    });

    it('runs unprotected where that is configured', async () => {
      expect(await app().post('/open')).toMatchObject({ status: 201, json: { run: 1 } });
      expect(await app().post('/open')).toMatchObject({ status: 201, json: { run: 2 } });
      expect(app().runs.contexts).toEqual([undefined, undefined]);
      expect(app().seen()).toEqual(['failed_open', 'failed_open']);
    });
  });

  it('frees the key when the request was answered while the claim was being made', async () => {
    const slow = await IdempotentApp.start(given, (nest) => void nest.useGlobalInterceptors(new Timeout()));
    const begin = slow.store.begin.bind(slow.store);
    let answer = (): void => {};
    const answered = new Promise<void>((resolve) => (answer = resolve));
    jest.spyOn(slow.store, 'begin').mockImplementationOnce(async (...args) => {
      const reply = await begin(...args);
      await answered;
      return reply;
    });
    expect(await slow.post('/orders')).toMatchObject({ status: 500 });
    answer();
    await eventually(() => slow.seen().includes('released'));
    expect(await slow.post('/orders')).toMatchObject({ status: 201, json: { run: 1 } });
    await slow.http.close();
  });

  it('gives an answer that the store could not be told, once its lease is over', async () => {
    const records = app().store;
    const down = new StoreUnavailableError('cut off');
    jest.spyOn(records, 'renew').mockRejectedValue(down);
    jest.spyOn(records, 'complete').mockRejectedValue(down);
    const first = app().post('/held');
    await eventually(() => app().runs.count === 1);
    app().runs.finishNext();
    expect(await first).toMatchObject({ status: 201, json: { run: 1 } });
    expect(app().seen()).toContain('unrecorded');
  });
});

describe.each(ADAPTERS)('claims of @Idempotent() on %s', (adapter) => {
  it('answers 503 in good time while Redis cannot be reached', async () => {
    const connection = { url: 'redis://127.0.0.1:1' };
    const options = { connection, commandTimeoutMs: 200 };
    const http = await startHttpApp({
      adapter,
      store: 'memory',
      controllers: [Routes],
      providers: [Runs],
      options,
    });
    const reply = await http.post('/orders', {}, KEY);
    expect(reply).toMatchObject({ status: 503, json: { code: 'IDEMPOTENCY_STORE_UNAVAILABLE' } });
    expect(http.app.get(Runs).count).toBe(0);
    await http.close();
  });
});
