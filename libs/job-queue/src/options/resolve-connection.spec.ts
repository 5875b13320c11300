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
  ])('accepts %j', (given, expected) => {
    expect(resolveConnection(given)).toEqual(expected ?? given);
  });

  it('takes a client as it is', () => {
    const client = new Redis({ lazyConnect: true });
    expect(resolveConnection({ client })).toEqual({ client });
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
    const cluster = new Cluster([{ host: 'localhost' }], { lazyConnect: true });
    expect(complaint({ client: cluster }).mend).toContain('Cluster');
  });
});
