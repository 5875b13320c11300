import { describe, expect, it } from '@jest/globals';
import { Cluster, Redis } from 'ioredis';
import { ConfigurationError } from '../errors/errors.js';
import { resolveConnection } from './resolve-connection.js';

function complaint(given: unknown): ConfigurationError {
  try {
    resolveConnection(given);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('resolveConnection', () => {
  it.each([
    [undefined, 'memory'],
    ['memory', 'memory'],
    [{ url: 'redis://localhost' }, undefined],
    [{ url: 'redis://localhost:6379/' }, undefined],
    [{ url: 'rediss://user:p%40ss@redis.example:6380/3?family=6' }, undefined],
    [{ redis: { host: 'localhost', keyPrefix: '' } }, undefined],
    [
      { cluster: ['redis://a:7000', 'redis://b/', { host: 'c' }, { host: 'd', port: 7_001 }] },
      {
        cluster: [
          { host: 'a', port: 7_000 },
          { host: 'b', port: 6_379 },
          { host: 'c', port: 6_379 },
          { host: 'd', port: 7_001 },
        ],
        redis: {},
      },
    ],
    [
      { cluster: [{ host: 'a' }], redis: { password: 'p', tls: {} } },
      { cluster: [{ host: 'a', port: 6_379 }], redis: { password: 'p', tls: {} } },
    ],
  ])('accepts %j', (given, expected) => {
    expect(resolveConnection(given)).toEqual(expected ?? given);
  });

  it('takes a client as it is', () => {
    const client = new Redis({ lazyConnect: true });
    expect(resolveConnection({ client })).toEqual({ client });
    const cluster = new Cluster([{ host: 'localhost' }], { lazyConnect: true });
    expect(resolveConnection({ client: cluster })).toEqual({ client: cluster });
  });

  it.each([
    ['', 'connection', '{ url }'],
    ['redis://:secret@host', 'connection', '{ url }'],
    [null, 'connection', '{ url }'],
    [{}, 'connection', 'exactly one'],
    [{ url: 'redis://a', redis: {} }, 'connection', 'exactly one'],
    [{ host: 'localhost', password: 'secret' }, 'connection.host', 'redis: {'],
    [{ password: 'secret' }, 'connection.password', 'redis: {'],
    [{ uri: 'redis://:secret@a' }, 'connection.uri', 'did you mean url?'],
    [{ url: undefined }, 'connection.url', 'REDIS_URL'],
    [{ url: '' }, 'connection.url', 'REDIS_URL'],
    [{ url: 7 }, 'connection.url', 'redis://'],
    [{ url: 'localhost:6379' }, 'connection.url', 'redis://'],
    [{ url: 'http://x:secret@host' }, 'connection.url', 'redis://'],
    [{ url: 'redis://x:se/secret@host:port' }, 'connection.url', 'percent-encoded'],
    [{ url: 'x:secret@host' }, 'connection.url', 'redis://'],
    [{ url: 'redis://x:secret@/0' }, 'connection.url', 'redis://'],
    [{ url: 'redis://:6379' }, 'connection.url', 'redis://'],
    [{ url: 'redis:///0' }, 'connection.url', 'no host'],
    [{ url: 'redis://x:secret@host/jobs?password=secret' }, 'connection.url', "database's number"],
    [{ url: 'redis://x:secret@host/0?keyPrefix=a' }, 'connection.url', '`prefix`'],
    [{ redis: 'redis://:secret@host' }, 'connection.redis', 'ioredis options'],
    [{ client: 'redis://:secret@host' }, 'connection.client', 'ioredis'],
    [{ redis: { keyPrefix: 'a:', password: 'secret' } }, 'connection.redis.keyPrefix', '`prefix`'],
    [{ client: {} }, 'connection.client', 'ioredis'],
    [{ cluster: [] }, 'connection.cluster', 'array of nodes'],
    [{ cluster: 'redis://:secret@host' }, 'connection.cluster', 'array of nodes'],
    [{ cluster: ['host:7000'] }, 'connection.cluster[0]', 'redis://'],
    [{ cluster: ['redis://a', 'redis://:secret@host'] }, 'connection.cluster[1]', 'redis: {'],
    [{ cluster: ['rediss://host'] }, 'connection.cluster[0]', 'tls'],
    [{ cluster: ['redis://host/1'] }, 'connection.cluster[0]', 'no database but 0'],
    [{ cluster: [7_000] }, 'connection.cluster[0]', 'URL'],
    [{ cluster: [{ host: 'a', password: 'secret' }] }, 'connection.cluster[0].password', 'redis: {'],
    [{ cluster: [{ port: 7_000 }] }, 'connection.cluster[0].host', 'name or address'],
    [{ cluster: [{ host: 'a', port: 70_000 }] }, 'connection.cluster[0].port', '65535'],
    [{ cluster: [{ host: 'a' }], url: 'redis://a' }, 'connection', 'exactly one'],
    [{ cluster: [{ host: 'a' }], redis: { keyPrefix: 'a:' } }, 'connection.redis.keyPrefix', '`prefix`'],
  ])('refuses %j, naming %s and keeping secrets to itself', (given, field, mend) => {
    const error = complaint(given);
    expect(error.field).toBe(field);
    expect(error.mend).toContain(mend);
    expect(`${error.message} ${String(error.received)}`).not.toContain('secret');
  });

  it('refuses clients it cannot use', () => {
    const client = new Redis({ lazyConnect: true, keyPrefix: 'a:' });
    expect(complaint({ client }).field).toBe('connection.client.options.keyPrefix');
    expect(complaint({ redis: client }).field).toBe('connection.redis');
    expect(complaint(client).mend).toContain('{ client }');
    const cluster = new Cluster([{ host: 'localhost' }], {
      lazyConnect: true,
      redisOptions: { keyPrefix: 'a:' },
    });
    expect(complaint({ client: cluster }).field).toBe('connection.client.options.keyPrefix');
    expect(complaint(cluster).mend).toContain('{ client }');
  });
});
