/** Checks the `connection` option. Its messages never repeat a password. */
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import { ConfigurationError } from '../errors/errors.js';
import { isIntegerIn, isRecord, rangeMend, unknownKeyMend } from './option-checks.js';

/** As the user wrote it, with everything that cannot work refused. */
export type ResolvedConnection = ResolvedClient | ResolvedCluster | 'memory';

/** Leads to one server, be it found through Sentinels. */
export type ResolvedClient =
  { readonly url: string } | { readonly redis: RedisOptions } | { readonly client: Redis };

export type ResolvedCluster =
  | { readonly cluster: readonly { host: string; port: number }[]; readonly redis: RedisOptions }
  | { readonly client: Cluster };

const KINDS = { url: true, redis: true, cluster: true, client: true } as const;
const SHAPES = "must be { url }, { redis }, { cluster } or { client } – exactly one of them – or 'memory'";
const PORT = { min: 1, max: 65_535 };
const DEFAULT_PORT = 6_379;
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
  // With `cluster`, `redis` says how to connect to each node.
  const kinds = Object.keys(given).filter((key) => key !== 'redis' || !('cluster' in given));
  if (kinds.length !== 1) {
    throw new ConfigurationError('connection', `keys: ${kinds.join(', ') || 'none'}`, SHAPES);
  }
  if ('url' in given) return { url: checkUrl(given.url) };
  if ('cluster' in given) {
    const cluster = checkNodes(given.cluster);
    return { cluster, redis: given.redis === undefined ? {} : checkRedisOptions(given.redis) };
  }
  if ('redis' in given) return { redis: checkRedisOptions(given.redis) };
  return checkClient(given.client);
}

function checkUrl(url: unknown, field = 'connection.url'): string {
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

function checkNodes(nodes: unknown): { host: string; port: number }[] {
  const field = 'connection.cluster';
  if (!Array.isArray(nodes) || nodes.length === 0) {
    const mend = "must be an array of nodes, each a URL like redis://host:6379 or { host: '…', port: 6379 }";
    throw new ConfigurationError(field, harmless(nodes), mend);
  }
  return nodes.map((node: unknown, index) => checkNode(`${field}[${index}]`, node));
}

/** What holds for one node alone cannot be right for those that are found later. */
function checkNode(field: string, node: unknown): { host: string; port: number } {
  if (typeof node === 'string') {
    const { protocol, username, password, hostname, port, pathname, search } = new URL(checkUrl(node, field));
    if (protocol !== 'redis:' || username || password || search || !/^(\/0?)?$/.test(pathname)) {
      const mend =
        'must be redis://host:port and no more: what holds for every node, such as username, password and ' +
        'tls, goes into { cluster: […], redis: { … } }, and a cluster has no database but 0';
      throw new ConfigurationError(field, withoutSecrets(node), mend);
    }
    return { host: hostname, port: Number(port || DEFAULT_PORT) };
  }
  if (!isRecord(node))
    throw new ConfigurationError(field, node, "must be a URL or { host: '…', port: 6379 }");
  for (const key of Object.keys(node)) {
    if (key === 'host' || key === 'port') continue;
    const mend =
      'is not an option of one node; what holds for every node goes into { cluster: […], redis: { … } }';
    throw new ConfigurationError(`${field}.${key}`, `<${typeof node[key]}>`, mend);
  }
  const { host, port = DEFAULT_PORT } = node;
  if (typeof host !== 'string' || host === '') {
    throw new ConfigurationError(`${field}.host`, host, 'must be the name or address of a node');
  }
  if (!isIntegerIn(port, PORT)) throw new ConfigurationError(`${field}.port`, port, rangeMend(PORT));
  return { host, port };
}

function checkClient(client: unknown): { readonly client: Redis } | { readonly client: Cluster } {
  if (!isRedisClient(client)) {
    const mend = 'must be a client of ioredis: new Redis(…) or new Cluster(…)';
    throw new ConfigurationError('connection.client', harmless(client), mend);
  }
  refuseKeyPrefix('connection.client.options.keyPrefix', client.options.keyPrefix);
  return isCluster(client) ? { client } : { client };
}

function isCluster(client: Redis | Cluster): client is Cluster {
  return client.isCluster;
}

function refuseKeyPrefix(field: string, keyPrefix: unknown): void {
  if (keyPrefix) throw new ConfigurationError(field, keyPrefix, KEY_PREFIX_MEND);
}

function isRedisOptions(value: unknown): value is RedisOptions {
  return isRecord(value) && !isRedisClient(value);
}

/** By what it can do: an app may have another copy of ioredis, so `instanceof` would refuse good clients. */
function isRedisClient(value: unknown): value is Redis | Cluster {
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
