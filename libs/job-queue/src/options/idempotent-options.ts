/** The options of `@Idempotent()`, and their check when the decorator runs. */
import { ConfigurationError, InvalidOptionError } from '../errors/errors.js';
import {
  IDEMPOTENCY_TIMES_KEYS,
  recordOfOptions,
  resolveTimes,
  type IdempotencyTimes,
} from './idempotency-options.js';
import { booleanOption, type Keys } from './option-checks.js';

/** What Express's and Fastify's requests have in common. Your extractors may name the type of their own framework. */
export interface IdempotentRequest {
  readonly method: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body?: unknown;
  readonly params?: unknown;
  readonly query?: unknown;
  /** Where Passport and most guards put who is asking. */
  readonly user?: unknown;
}

/** Declared as methods, so that a parameter of type `express.Request` or `FastifyRequest` fits. */
export interface IdempotencyExtractors {
  /** The key. Default: the `Idempotency-Key` header. `undefined`: there is none. Example: `bodyField('requestId')`. */
  key?(request: IdempotentRequest): unknown;
  /**
   * Who is asking: the same key from two principals is two operations. Default: `request.user`'s `id`, `sub` or
   * `userId`, else a hash of the `Authorization` header, else nobody.
   * Danger: where clients share a principal, one that knows another's key is given the other's answer.
   */
  principal?(request: IdempotentRequest): PrincipalResult | Promise<PrincipalResult>;
  /** What the request is about, any JSON value. Default: its path parameters, query and body. */
  fingerprint?(request: IdempotentRequest): unknown;
}

export type PrincipalResult = string | number | undefined;

export interface IdempotentOptions extends IdempotencyTimes, IdempotencyExtractors {
  /** `false`: a request without a key runs unprotected. Default: it is refused with 400. */
  readonly required?: boolean;
  /** Response headers that are stored and sent again. Never list one that is meant for one client, like `set-cookie`. */
  readonly headers?: readonly string[];
  /**
   * `false`: a 4xx of the handler frees the key. Default: it is stored, since the same request would fail
   * again; but not 408, 425, 429 and what carries a `Retry-After`: these ask to be repeated.
   */
  readonly storeClientErrors?: boolean;
  /** `true`: a 5xx of the handler is stored. Default: it frees the key, so that a repeat may succeed. */
  readonly storeServerErrors?: boolean;
  /** `true`: while the store is down requests run unprotected. Default: they are refused with 503. */
  readonly failOpen?: boolean;
}

export interface ResolvedIdempotentOptions extends Required<IdempotencyTimes> {
  readonly extractors: IdempotencyExtractors;
  readonly required: boolean;
  /** In lower case. */
  readonly headers: readonly string[];
  readonly storeClientErrors: boolean;
  readonly storeServerErrors: boolean;
  readonly failOpen: boolean;
}

const KEYS: Keys<IdempotentOptions> = {
  ...IDEMPOTENCY_TIMES_KEYS,
  key: true,
  principal: true,
  fingerprint: true,
  required: true,
  headers: true,
  storeClientErrors: true,
  storeServerErrors: true,
  failOpen: true,
};

/** What describes the body or leads to what was made. */
const REPLAYED_HEADERS = [
  'content-type',
  'content-language',
  'content-encoding',
  'content-disposition',
  'content-location',
  'location',
  'link',
  'etag',
  'last-modified',
] as const;

/** @throws ConfigurationError naming the first option that cannot work. */
export function resolveIdempotentOptions(options: IdempotentOptions): ResolvedIdempotentOptions {
  try {
    return resolve(recordOfOptions(options, KEYS), options);
  } catch (error) {
    if (!(error instanceof InvalidOptionError) || error instanceof ConfigurationError) throw error;
    throw new ConfigurationError(error.field, error.received, error.mend);
  }
}

function resolve(
  given: Readonly<Record<string, unknown>>,
  extractors: IdempotencyExtractors,
): ResolvedIdempotentOptions {
  for (const name of ['key', 'principal', 'fingerprint']) {
    const extractor = given[name];
    if (extractor !== undefined && typeof extractor !== 'function') {
      throw new ConfigurationError(name, extractor, 'must be a function of the request');
    }
  }
  return {
    ...resolveTimes(given),
    extractors,
    required: booleanOption('required', given['required'], true),
    headers: resolveHeaders(given['headers']),
    storeClientErrors: booleanOption('storeClientErrors', given['storeClientErrors'], true),
    storeServerErrors: booleanOption('storeServerErrors', given['storeServerErrors'], false),
    failOpen: booleanOption('failOpen', given['failOpen'], false),
  };
}

function resolveHeaders(given: unknown): readonly string[] {
  if (given === undefined) return REPLAYED_HEADERS;
  if (!Array.isArray(given))
    throw new ConfigurationError('headers', given, 'must be an array of header names');
  return given.map((name: unknown, index) => {
    if (typeof name !== 'string' || !/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
      throw new ConfigurationError(`headers[${index}]`, name, 'must be the name of a header');
    }
    return name.toLowerCase();
  });
}
