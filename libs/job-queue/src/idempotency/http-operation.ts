/** Reads from a request which operation it asks for: its key, whose it is, and what tells it from another one. */
import { createHash } from 'node:crypto';
import { ConfigurationError, InvalidOptionError } from '../errors/errors.js';
import { isRecord, LIMITS } from '../options/option-checks.js';
import type { IdempotentRequest, ResolvedIdempotentOptions } from '../options/idempotent-options.js';
import { fingerprintOf } from './canonical-json.js';
import { idempotencyProblem } from './idempotency-problem.js';

export interface HttpOperation {
  /** Of the record. */
  readonly key: string;
  readonly fingerprint: string;
}

/** Where Express and Fastify say which route a request took. */
interface RoutedRequest extends IdempotentRequest {
  readonly route?: unknown;
  readonly routeOptions?: unknown;
}

const HEADER = 'idempotency-key';
// A string of a structured field (RFC 9651), or the same without quotes, as many clients send it.
const QUOTED = /^"((?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*)"$/;
const BARE = /^[\x21\x23-\x5b\x5d-\x7e]+$/;
const SEPARATOR = '|';

/**
 * `undefined`: the request has no key and need not have one.
 * @throws IdempotencyProblem 400 when the key is missing or malformed, or the body cannot be compared
 */
export async function readOperation(
  request: RoutedRequest,
  fallbackRoute: string,
  { extractors, required }: ResolvedIdempotentOptions,
): Promise<HttpOperation | undefined> {
  const given: unknown = await (extractors.key ? extractors.key(request) : request.headers[HEADER]);
  if (given === undefined || given === null) {
    if (required) throw idempotencyProblem('key_missing');
    return undefined;
  }
  const key = parseKey(given);
  const principal = await (extractors.principal ? extractors.principal(request) : principalOf(request));
  const parts = ['http', request.method, routeOf(request) ?? fallbackRoute, shorten(principal), key];
  return { key: parts.map(escapePart).join(SEPARATOR), fingerprint: fingerprint(request, extractors) };
}

function parseKey(given: unknown): string {
  if (typeof given !== 'string') throw idempotencyProblem('key_malformed');
  const text = given.trim();
  const quoted = QUOTED.exec(text)?.[1]?.replaceAll(/\\(["\\])/g, '$1');
  const key = quoted ?? (BARE.test(text) ? text : '');
  if (key.length > LIMITS.idempotencyKeyLength) throw idempotencyProblem('key_too_long');
  if (key === '') throw idempotencyProblem('key_malformed');
  return key;
}

/** Falls back to what tells clients apart too well rather than not enough: an answer must not reach another client. */
function principalOf({ user, headers }: IdempotentRequest): string | number | undefined {
  if (typeof user === 'string' || typeof user === 'number') return user;
  if (isRecord(user)) {
    for (const id of [user['id'], user['sub'], user['userId']]) {
      if (typeof id === 'string' || typeof id === 'number') return id;
    }
  }
  if (user !== undefined && user !== null) {
    const mend = 'must say who is asking: request.user has neither id nor sub nor userId';
    throw new ConfigurationError('@Idempotent({ principal })', undefined, mend);
  }
  return typeof headers['authorization'] === 'string' ? sha256(headers['authorization']) : undefined;
}

/** Tokens and the like have no business in the name of a key. */
function shorten(principal: string | number | undefined): string {
  const text = String(principal ?? '').toWellFormed();
  return text.length > LIMITS.idempotencyKeyLength ? sha256(text) : text;
}

/** The template, with the names of its parameters instead of their values. */
function routeOf({ route, routeOptions }: RoutedRequest): string | undefined {
  if (isRecord(route) && typeof route['path'] === 'string') return route['path'];
  return isRecord(routeOptions) && typeof routeOptions['url'] === 'string' ? routeOptions['url'] : undefined;
}

function fingerprint(request: RoutedRequest, extractors: ResolvedIdempotentOptions['extractors']): string {
  const { params, query, body } = request;
  try {
    return fingerprintOf(extractors.fingerprint ? extractors.fingerprint(request) : { params, query, body });
  } catch (error) {
    if (error instanceof InvalidOptionError) throw idempotencyProblem('body_incomparable');
    throw error;
  }
}

/** So that no part can pass for two. */
function escapePart(part: string): string {
  return part.replaceAll(/[\\|]/g, String.raw`\$&`);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
