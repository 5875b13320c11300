/** Runs an operation once per key, for code outside of jobs. */
import { IdempotencyLostError, IdempotencyUnreplayableError } from '../errors/idempotency-errors.js';
import { ResultUnstorableError } from '../errors/errors.js';
import { isRecord } from '../options/option-checks.js';
import {
  checkIdempotencyKey,
  resolveRunOptions,
  type IdempotentRunOptions,
} from '../options/idempotency-options.js';
import type { IdempotencyRecord } from '../store/idempotency-store.js';
import { fingerprintOf } from './canonical-json.js';
import type { IdempotencyClaim, IdempotencyContext } from './idempotency-claim.js';
import type { IdempotencyClaims } from './idempotency-claims.js';
import type { IdempotencyEvents } from './idempotency-events.js';

export class IdempotencyService {
  constructor(private readonly claims: IdempotencyClaims) {}

  /** What happened in this process, also through `@Idempotent()`. */
  get events(): IdempotencyEvents {
    return this.claims.events;
  }

  /**
   * Runs `operation` unless it was done with this key before; then its stored result is returned. Either way the
   * caller gets what JSON makes of the result. If it throws, the key is free again. If the store cannot be told of the
   * result before the lease is over, the caller gets it all the same, and a repeat runs the operation again
   * (`unrecorded`).
   * @param key 1–255 characters; a namespace of its own, shared neither with jobs nor with `@Idempotent()`
   * @throws IdempotencyConflictError when the key was used with another fingerprint
   * @throws IdempotencyBusyError when it still runs elsewhere after `waitMs`
   * @throws IdempotencyLostError when the claim was lost while it ran: the result was not stored; or before that, and
   *   then the operation is not called
   * @throws IdempotencyUnreplayableError when it was done, but its result could not be kept
   * @throws ResultUnstorableError when the result is not JSON; the key counts as done
   * @throws StoreUnavailableError when the store cannot be reached; nothing was run
   */
  async run<T>(
    key: string,
    options: IdempotentRunOptions,
    operation: (context: IdempotencyContext) => Promise<T> | T,
  ): Promise<T> {
    checkIdempotencyKey('key', key);
    const { fingerprint, ttlMs, resultLimitBytes, signal, ...timing } = resolveRunOptions(options);
    const opening = await this.claims.open(storeKey(key), {
      ...timing,
      signal,
      fingerprint: fingerprint === undefined ? undefined : fingerprintOf(fingerprint),
    });
    if (opening.kind === 'replay') return readResult(key, opening.result) as T;

    const { claim } = opening;
    let result: T;
    try {
      claim.ensureHeld();
      result = await operation(contextOf(claim, signal));
    } catch (error) {
      await claim.release();
      throw error;
    }
    return this.keep(key, claim, result, ttlMs, resultLimitBytes);
  }

  async inspect(key: string): Promise<IdempotencyRecord | undefined> {
    checkIdempotencyKey('key', key);
    return this.claims.store.inspect(storeKey(key));
  }

  private async keep<T>(
    key: string,
    claim: IdempotencyClaim,
    result: T,
    ttlMs: number,
    limitBytes: number,
  ): Promise<T> {
    const record = writeResult(result, limitBytes);
    if ((await claim.complete(record.text, ttlMs, record.unreplayable)) === 'stale') {
      throw new IdempotencyLostError(key, claim.fencingToken, 'another owner took over while it ran');
    }
    if (record.json === undefined) throw new ResultUnstorableError(key, record.unreplayable ?? 'not JSON');
    return (record.json === '' ? undefined : JSON.parse(record.json)) as T;
  }
}

/** Apart from the keys of HTTP requests. */
function storeKey(key: string): string {
  return `service|${key}`;
}

function contextOf(claim: IdempotencyClaim, signal: AbortSignal | undefined): IdempotencyContext {
  const { fencingToken } = claim;
  return { fencingToken, signal: signal ? AbortSignal.any([claim.signal, signal]) : claim.signal };
}

interface WrittenResult {
  /** The record. */
  readonly text: string;
  /** The result alone; '' for none, `undefined` when it is not JSON. */
  readonly json: string | undefined;
  readonly unreplayable?: string;
}

/** What cannot be kept is marked, never cut short and never forgotten: the operation was done. */
function writeResult(result: unknown, limitBytes: number): WrittenResult {
  const marked = (why: string, json?: string): WrittenResult => ({
    text: JSON.stringify({ unreplayable: why }),
    json,
    unreplayable: why,
  });
  if (result === undefined) return { text: '{}', json: '' };
  let json: string | undefined;
  try {
    json = stringify(result);
  } catch (error) {
    return marked(error instanceof Error ? error.message : 'it is not JSON');
  }
  if (json === undefined) return marked(`a ${typeof result} is not JSON`);
  const bytes = Buffer.byteLength(json);
  if (bytes > limitBytes) return marked(`it has ${bytes} bytes, the limit is ${limitBytes}`, json);
  return { text: `{"value":${json}}`, json };
}

function readResult(key: string, text: string): unknown {
  const record = parse(text);
  if (!isRecord(record)) throw new IdempotencyUnreplayableError(key, 'its record is not readable');
  const { unreplayable, value } = record;
  if (typeof unreplayable === 'string') throw new IdempotencyUnreplayableError(key, unreplayable);
  return value;
}

/** `undefined` when it is not JSON. What JSON.parse says would quote the text. */
function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** With the type that JSON.stringify really has. */
const stringify: (value: unknown) => string | undefined = JSON.stringify;
