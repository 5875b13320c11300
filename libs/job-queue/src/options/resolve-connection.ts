/** Checks the `connection` option. Its messages never repeat a password. */
import type { Redis, RedisOptions } from 'ioredis';
import { ConfigurationError } from '../errors/errors.js';
import { isRecord, unknownKeyMend } from './option-checks.js';
import type { ConnectionOptions } from './options.js';

/** As the user wrote it, with everything that cannot work refused. */
export type ResolvedConnection = Exclude<ConnectionOptions, { url: unknown }> | { readonly url: string };

const KINDS = { url: true, redis: true, client: true } as const;
const SHAPES = "must be { url }, { redis } or { client } – exactly one of them – or 'memory'";
const KEY_PREFIX_MEND =
  "keyPrefix breaks the library's scripts, which build their keys themselves; remove it and use the option `prefix`";

/** @throws ConfigurationError when it is none of the shapes, or one that cannot work. */
export function resolveConnection(given: unknown): ResolvedConnection {
  if (given === undefined || given === 'memory') return 'memory';
  if (typeof given === 'string') {
    throw new ConfigurationError('connection', withoutSecrets(given), `${SHAPES}; a URL goes into { url }`);
  }
  if (isRedisClient(given)) {
    throw new ConfigurationError('connection', given, `${SHAPES}; a client of yours goes into { client }`);
  }
  if (!isRecord(given)) throw new ConfigurationError('connection', given, SHAPES);
  for (const key of Object.keys(given)) {
    if (Object.hasOwn(KINDS, key)) continue;
    // The value may be a password: show its type only.
    const shown = `<${typeof given[key]}>`;
    const mend = `${unknownKeyMend(key, KINDS)} Options of ioredis go into { redis: { … } }`;
    throw new ConfigurationError(`connection.${key}`, shown, mend);
  }
  const kinds = Object.keys(given);
  if (kinds.length !== 1) {
    throw new ConfigurationError('connection', `keys: ${kinds.join(', ') || 'none'}`, SHAPES);
  }
  if ('url' in given) return { url: checkUrl(given.url) };
  if ('redis' in given) return { redis: checkRedisOptions(given.redis) };
  return { client: checkClient(given.client) };
}

function checkUrl(url: unknown): string {
  const field = 'connection.url';
  if (url === undefined || url === '') {
    const mend =
      'is empty; is its environment variable (such as REDIS_URL) set? ' +
      "For a queue without Redis leave `connection` out or make it 'memory'";
    throw new ConfigurationError(field, url, mend);
  }
  const form = 'must be a URL like redis://user:password@host:6379/0, or rediss:// for TLS';
  if (typeof url !== 'string') throw new ConfigurationError(field, url, form);
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !['redis:', 'rediss:'].includes(parsed.protocol)) {
    const mend = `${form}; special characters in the password must be percent-encoded`;
    throw new ConfigurationError(field, withoutSecrets(url), mend);
  }
  const shown = `${parsed.protocol}//${parsed.username || parsed.password ? '***@' : ''}${parsed.host}${parsed.pathname}`;
  if (parsed.hostname === '') throw new ConfigurationError(field, shown, `${form}; it names no host`);
  if (!/^\/?\d*$/.test(parsed.pathname)) {
    throw new ConfigurationError(field, shown, `${form}; the path is the database's number`);
  }
  // ioredis takes the query of a URL as options.
  if (parsed.searchParams.has('keyPrefix')) throw new ConfigurationError(field, shown, KEY_PREFIX_MEND);
  return url;
}

function checkRedisOptions(options: unknown): RedisOptions {
  if (!isRedisOptions(options)) {
    throw new ConfigurationError(
      'connection.redis',
      harmless(options),
      'must be an object of ioredis options',
    );
  }
  refuseKeyPrefix('connection.redis.keyPrefix', options.keyPrefix);
  return options;
}

function checkClient(client: unknown): Redis {
  if (!isRedisClient(client)) {
    const mend = 'must be a client of ioredis: new Redis(…)';
    throw new ConfigurationError('connection.client', harmless(client), mend);
  }
  if (client.isCluster) {
    const mend = 'must be a Redis client, not a Cluster: this version talks to one Redis (or its Sentinels)';
    throw new ConfigurationError('connection.client', client, mend);
  }
  refuseKeyPrefix('connection.client.options.keyPrefix', client.options.keyPrefix);
  return client;
}

function refuseKeyPrefix(field: string, keyPrefix: unknown): void {
  if (keyPrefix) throw new ConfigurationError(field, keyPrefix, KEY_PREFIX_MEND);
}

function isRedisOptions(value: unknown): value is RedisOptions {
  return isRecord(value) && !isRedisClient(value);
}

/** By what it can do: an app may have another copy of ioredis, so `instanceof` would refuse good clients. */
function isRedisClient(value: unknown): value is Redis {
  return (
    isRecord(value) &&
    typeof value.duplicate === 'function' &&
    // node-redis has `duplicate` and `options` too, but not this.
    typeof value.defineCommand === 'function' &&
    isRecord(value.options)
  );
}

function harmless(value: unknown): unknown {
  return typeof value === 'string' ? withoutSecrets(value) : value;
}

/** Only what certainly holds no secret: whoever cannot write a URL may have put the password anywhere. */
function withoutSecrets(text: string): string {
  const scheme = /^[a-z][a-z0-9+.-]*:\/\//i.exec(text)?.[0];
  return scheme === undefined ? `<${text.length} characters>` : `${scheme}…`;
}
