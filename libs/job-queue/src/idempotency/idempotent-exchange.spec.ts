import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventEmitter } from 'node:events';
import { INTERNAL } from '../options/defaults.js';
import { resolveIdempotentOptions } from '../options/idempotent-options.js';
import { MemoryIdempotencyStore } from '../store/memory/memory-idempotency-store.js';
import { IdempotencyClaims } from './idempotency-claims.js';
import { IdempotencyEvents } from './idempotency-events.js';
import { IdempotentExchange } from './idempotent-exchange.js';
import type { NodeResponse } from './response-gate.js';

const OPTIONS = { fingerprint: undefined, leaseMs: 60_000, waitMs: 0, signal: undefined };

/** As much of a response as is looked at. */
class Connection extends EventEmitter implements NodeResponse {
  statusCode = 201;
  headersSent = false;
  writableEnded = false;
  destroyed = false;
  getHeader = (): unknown => undefined;
  removeHeader = (): unknown => undefined;
  setHeader = (): unknown => undefined;
  write = (): boolean => true;
  end = (): unknown => undefined;
  destroy = (): unknown => undefined;
}

describe('IdempotentExchange, when no answer comes by', () => {
  const store = new MemoryIdempotencyStore();
  const claims = new IdempotencyClaims(store, new IdempotencyEvents());
  let exchange: IdempotentExchange;
  let connection: Connection;
  let key: string;
  let keys = 0;

  beforeEach(async () => {
    jest.useFakeTimers();
    key = `key-${(keys += 1)}`;
    const opening = await claims.open(key, OPTIONS);
    if (opening.kind !== 'started') throw new Error(opening.kind);
    const { claim } = opening;
    const entry = { request: undefined, context: claim, isEntered: true };
    exchange = new IdempotentExchange(claim, entry, resolveIdempotentOptions({}));
    connection = new Connection();
    exchange.watch(connection);
  });
  afterEach(() => {
    jest.useRealTimers();
  });

  const status = async (): Promise<string | undefined> => (await store.inspect(key))?.status;

  it.each(['finish', 'close'])('frees the key on %s when the handler never begins', async (event) => {
    connection.emit(event);
    await jest.advanceTimersByTimeAsync(0);
    expect(await status()).toBeUndefined();
    expect(exchange.handlerBegins()).toBe(false);
  });

  it('keeps the claim while the handler of a client that hung up still runs', async () => {
    exchange.handlerBegins();
    connection.emit('close');
    await jest.advanceTimersByTimeAsync(10 * INTERNAL.unansweredGraceMs);
    expect(await status()).toBe('processing');
  });

  it('marks the operation as done when its handler ends and nobody answers', async () => {
    exchange.handlerBegins();
    connection.emit('close');
    exchange.handlerEnded('completed', connection);
    await jest.advanceTimersByTimeAsync(INTERNAL.unansweredGraceMs - 1);
    expect(await status()).toBe('processing');
    await jest.advanceTimersByTimeAsync(1);
    expect(await store.inspect(key)).toMatchObject({
      status: 'done',
      result: '{"status":201,"unreplayable":"streamed"}',
    });
  });

  it('takes an answer that comes late', async () => {
    exchange.handlerBegins();
    connection.emit('close');
    exchange.handlerEnded('completed', connection);
    await jest.advanceTimersByTimeAsync(INTERNAL.unansweredGraceMs - 1);
    await exchange.onAnswer({ status: 200, headers: {}, body: 'late' });
    await jest.advanceTimersByTimeAsync(INTERNAL.unansweredGraceMs);
    expect(await store.inspect(key)).toMatchObject({ result: '{"status":200,"headers":{},"text":"late"}' });
  });

  it('frees the key when the handler failed and nobody answers', async () => {
    exchange.handlerBegins();
    exchange.handlerEnded('failed', connection);
    connection.emit('close');
    await jest.advanceTimersByTimeAsync(INTERNAL.unansweredGraceMs);
    expect(await status()).toBeUndefined();
  });

  it('frees the key at once when the handler was torn down with the connection', async () => {
    exchange.handlerBegins();
    connection.emit('close');
    exchange.handlerEnded('cancelled', connection);
    await jest.advanceTimersByTimeAsync(0);
    expect(await status()).toBeUndefined();
  });

  it.each([
    [200, 'done'],
    [500, undefined],
  ])('goes by the status %i of an answer that went past it', async (code, expected) => {
    exchange.handlerBegins();
    exchange.handlerEnded('completed', connection);
    connection.statusCode = code;
    connection.headersSent = true;
    connection.emit('finish');
    await jest.advanceTimersByTimeAsync(0);
    expect(await status()).toBe(expected);
  });
});
