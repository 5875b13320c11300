/** IdempotencyService: an operation runs once per key, whatever becomes of its first run. On both stores. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  IdempotencyBusyError,
  IdempotencyConflictError,
  IdempotencyLostError,
  IdempotencyService,
  IdempotencyUnreplayableError,
  ResultUnstorableError,
  StoreUnavailableError,
  type IdempotencyContext,
} from '@fenceline/nestjs';
import { IdempotencyClaims } from '#lib/idempotency/idempotency-claims.js';
import type { IdempotencyStore } from '#lib/store/idempotency-store.js';
import { eventually } from '../support/eventually.js';
import { startApp, STORES, type TestApp } from '../support/nest-app.js';
import { keysOf, openRedis } from '../support/redis.js';

describe.each(STORES)('IdempotencyService on %s', (store) => {
  let app: TestApp;
  let service: IdempotencyService;
  let records: IdempotencyStore;

  beforeEach(async () => {
    app = await startApp({ store, options: { worker: false } });
    service = app.context.get(IdempotencyService);
    records = app.context.get(IdempotencyClaims).store;
  });
  afterEach(async () => {
    jest.restoreAllMocks();
    await app.close();
  });

  /** An operation that runs until it is told to end. */
  function held<T>(result: T) {
    let finish = (): void => {};
    const contexts: IdempotencyContext[] = [];
    const told = new Promise<void>((resolve) => (finish = resolve));
    const operation = async (context: IdempotencyContext): Promise<T> => {
      contexts.push(context);
      await told;
      return result;
    };
    return { operation, contexts, finish: () => finish() };
  }

  it('runs once and returns the same afterwards', async () => {
    let runs = 0;
    const operation = () => ({ run: (runs += 1), list: [], none: undefined, at: new Date(0) });
    const first: unknown = await service.run('invoice:42', {}, operation);
    expect(first).toEqual({ run: 1, list: [], at: '1970-01-01T00:00:00.000Z' });
    expect(await service.run('invoice:42', {}, operation)).toEqual(first);
    expect(await service.run('invoice:43', {}, operation)).toMatchObject({ run: 2 });
    expect(service.events.counts()).toMatchObject({ started: 2, done: 2, replayed: 1 });
  });

  it.each([undefined, null, 0, '', false, 'text', []])('gives %j again', async (result) => {
    let runs = 0;
    for (let i = 0; i < 2; i += 1) {
      const returned = await service.run('key', {}, () => {
        runs += 1;
        return result;
      });
      expect(returned).toEqual(result);
    }
    expect(runs).toBe(1);
  });

  it('refuses another fingerprint, and takes the same in another order', async () => {
    await service.run('key', { fingerprint: { a: 1, b: 2 } }, () => 1);
    expect(await service.run('key', { fingerprint: { b: 2, a: 1 } }, () => 2)).toBe(1);
    const other = service.run('key', { fingerprint: { a: 1, b: 3 } }, () => 2);
    await expect(other).rejects.toThrow(IdempotencyConflictError);
  });

  it('frees the key when the operation throws', async () => {
    const fails = service.run('key', {}, async () => {
      throw new Error('no luck');
    });
    await expect(fails).rejects.toThrow('no luck');
    expect(await service.inspect('key')).toBeUndefined();
    expect(await service.run('key', {}, () => 'luck')).toBe('luck');
  });

  it('says that it runs elsewhere, and when to come again', async () => {
    const { operation, finish, contexts } = held('done');
    const first = service.run('key', {}, operation);
    await eventually(() => contexts.length === 1);
    const second: unknown = await service.run('key', {}, () => 2).catch((error: unknown) => error);
    expect(second).toBeInstanceOf(IdempotencyBusyError);
    expect(second).toMatchObject({ code: 'IDEMPOTENCY_BUSY', retryAfterMs: expect.any(Number) });
    expect(await service.inspect('key')).toMatchObject({
      status: 'processing',
      fencingToken: contexts[0]?.fencingToken,
    });
    finish();
    expect(await first).toBe('done');
    expect(await service.inspect('key')).toMatchObject({ status: 'done', result: '{"value":"done"}' });
  });

  it('waits for it, and gets its result', async () => {
    const { operation, finish, contexts } = held({ by: 'the first' });
    const first = service.run('key', {}, operation);
    await eventually(() => contexts.length === 1);
    const begin = jest.spyOn(records, 'begin');
    const second = service.run('key', { waitMs: 10_000 }, () => ({ by: 'the second' }));
    await eventually(() => begin.mock.calls.length >= 2);
    finish();
    expect(await second).toEqual({ by: 'the first' });
    await first;
  });

  it('stops waiting when its signal fires', async () => {
    const { operation, finish, contexts } = held(1);
    const first = service.run('key', {}, operation);
    await eventually(() => contexts.length === 1);
    const begin = jest.spyOn(records, 'begin');
    const giveUp = new AbortController();
    const second = service.run('key', { waitMs: 60_000, signal: giveUp.signal }, () => 2);
    await eventually(() => begin.mock.calls.length >= 1);
    giveUp.abort(new Error('enough'));
    await expect(second).rejects.toThrow('enough');
    finish();
    await first;
  });

  it("hands the caller's signal on to the operation", async () => {
    const giveUp = new AbortController();
    const { signal } = giveUp;
    const run = service.run('key', { signal }, async (context) => {
      giveUp.abort(new Error('enough'));
      context.signal.throwIfAborted();
    });
    await expect(run).rejects.toThrow('enough');
    expect(await service.inspect('key')).toBeUndefined();
  });

  it('renews the lease for as long as it runs', async () => {
    const renew = jest.spyOn(records, 'renew');
    const { operation, finish, contexts } = held(1);
    const first = service.run('key', { leaseMs: 150 }, operation);
    // Longer than two leases.
    await eventually(() => renew.mock.calls.length >= 7);
    expect(contexts[0]?.signal.aborted).toBe(false);
    await expect(service.run('key', {}, () => 2)).rejects.toThrow(IdempotencyBusyError);
    finish();
    expect(await first).toBe(1);
    const calls = renew.mock.calls.length;
    await service.run('other', { leaseMs: 150 }, () => 2);
    expect(renew.mock.calls.length).toBe(calls);
  });

  it.each(['hangs', 'fails'])(
    'aborts at the local deadline when renewal %s; another takes over',
    async (how) => {
      const outage = async (): Promise<boolean> => {
        if (how === 'fails') throw new StoreUnavailableError('cut off');
        return new Promise<boolean>(() => {});
      };
      const renew = jest.spyOn(records, 'renew').mockImplementation(outage);
      const { operation, finish, contexts } = held('the first');
      const sentAt = performance.now();
      const first = service.run('key', { leaseMs: 200 }, operation);
      const [context] = await eventually(() => contexts.length === 1 && contexts);
      await eventually(() => context?.signal.aborted);
      expect(performance.now() - sentAt).toBeGreaterThanOrEqual(179);
      expect(context?.signal.reason).toBeInstanceOf(IdempotencyLostError);
      renew.mockRestore();

      const second = held('the second');
      const takenOver = service.run('key', { waitMs: 5_000 }, second.operation);
      await eventually(() => second.contexts.length === 1);
      expect(second.contexts[0]?.fencingToken).toBeGreaterThan(context?.fencingToken ?? Infinity);

      finish();
      await expect(first).rejects.toThrow(IdempotencyLostError);
      second.finish();
      expect(await takenOver).toBe('the second');
      expect(await service.run('key', {}, () => 'the third')).toBe('the second');
      expect(service.events.counts()).toMatchObject({ lost: 1, taken_over: 1, stale_refused: 1, done: 1 });
    },
  );

  it('still counts after a lost lease if nobody took over', async () => {
    jest.spyOn(records, 'renew').mockRejectedValue(new StoreUnavailableError('cut off'));
    const { operation, finish, contexts } = held('late');
    const first = service.run('key', { leaseMs: 100 }, operation);
    await eventually(() => contexts[0]?.signal.aborted);
    finish();
    expect(await first).toBe('late');
    expect(await service.run('key', {}, () => 'again')).toBe('late');
  });

  it('does not take a renewal that comes after the end for a loss', async () => {
    const renew = jest.spyOn(records, 'renew');
    const complete = records.complete.bind(records);
    jest.spyOn(records, 'complete').mockImplementation(async (...call) => {
      const accepted = await complete(...call);
      const before = renew.mock.calls.length;
      await eventually(() => renew.mock.calls.length >= before + 2);
      return accepted;
    });
    const contexts: IdempotencyContext[] = [];
    await service.run('key', { leaseMs: 100 }, (context) => void contexts.push(context));
    expect(contexts[0]?.signal.aborted).toBe(false);
    expect(service.events.counts()).toMatchObject({ done: 1, lost: 0 });
  });

  it('rides out an outage at the end', async () => {
    const complete = jest.spyOn(records, 'complete');
    complete.mockRejectedValueOnce(new StoreUnavailableError('cut off'));
    expect(await service.run('key', {}, () => 1)).toBe(1);
    expect(complete).toHaveBeenCalledTimes(2);
    expect(await service.run('key', {}, () => 2)).toBe(1);
  });

  it('marks what it cannot keep, and does not run it again', async () => {
    const large = 'x'.repeat(200);
    expect(await service.run('large', { resultLimitBytes: 100 }, () => large)).toBe(large);
    await expect(service.run('large', {}, () => 2)).rejects.toThrow(IdempotencyUnreplayableError);
    await expect(service.run('bigint', {}, () => 1n)).rejects.toThrow(ResultUnstorableError);
    await expect(service.run('bigint', {}, () => 2)).rejects.toThrow(IdempotencyUnreplayableError);
    expect(service.events.counts()).toMatchObject({ unreplayable: 2 });
  });

  it('runs one of a hundred at once', async () => {
    let runs = 0;
    const operation = () => (runs += 1);
    const all = Array.from({ length: 100 }, () => service.run('key', { waitMs: 10_000 }, operation));
    expect(new Set(await Promise.all(all))).toEqual(new Set([1]));
    expect(runs).toBe(1);
  });

  it('runs nothing while the store is down', async () => {
    jest.spyOn(records, 'begin').mockRejectedValue(new StoreUnavailableError('cut off'));
    const operation = jest.fn(() => 1);
    await expect(service.run('key', {}, operation)).rejects.toThrow(StoreUnavailableError);
    expect(operation).not.toHaveBeenCalled();
  });

  if (store === 'redis') {
    it('keeps its records under keys of their own, each with a time to live', async () => {
      await service.run('send_email:{42}', { ttlMs: 60_000 }, () => 1);
      const redis = openRedis();
      const record = `${app.prefix}:idempotency:{service|send_email:%7B42%7D}:record`;
      const keys = await keysOf(redis, app.prefix);
      expect(keys.filter((key) => key.includes('idempotency'))).toEqual([record]);
      expect(await redis.pttl(record)).toBeGreaterThan(50_000);
      redis.disconnect();
    });
  }
});
