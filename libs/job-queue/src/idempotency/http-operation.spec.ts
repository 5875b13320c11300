import { describe, expect, it } from '@jest/globals';
import { ConfigurationError } from '../errors/errors.js';
import {
  resolveIdempotentOptions,
  type IdempotentOptions,
  type IdempotentRequest,
} from '../options/idempotent-options.js';
import { readOperation } from './http-operation.js';

const KEY = 'k-1';

function read(request: Partial<IdempotentRequest> & object = {}, options: IdempotentOptions = {}) {
  const whole = { method: 'POST', headers: { 'idempotency-key': KEY }, ...request };
  return readOperation(whole, 'Orders.create', resolveIdempotentOptions(options));
}

async function keyOf(...args: Parameters<typeof read>): Promise<string | undefined> {
  return (await read(...args))?.key;
}

describe('readOperation', () => {
  it('names the route as Express, as Fastify, or else by the method', async () => {
    expect(await keyOf({ route: { path: '/orders/:id' } } as object)).toBe('http|POST|/orders/:id||k-1');
    expect(await keyOf({ routeOptions: { url: '/orders/:id' } } as object)).toBe(
      'http|POST|/orders/:id||k-1',
    );
    expect(await keyOf()).toBe('http|POST|Orders.create||k-1');
  });

  it.each([
    [{ id: 7 }, '7'],
    [{ sub: 'ann' }, 'ann'],
    [{ userId: 'ann', name: 'Ann' }, 'ann'],
    ['ann', 'ann'],
    [7, '7'],
  ])('knows the user %p', async (user, principal) => {
    expect(await keyOf({ user })).toBe(`http|POST|Orders.create|${principal}|k-1`);
  });

  it('does not take a user it cannot tell from others for nobody', async () => {
    await expect(read({ user: { name: 'Ann' } })).rejects.toThrow(ConfigurationError);
  });

  it('hashes what may be a secret or too long', async () => {
    const headers = { 'idempotency-key': KEY, authorization: 'Bearer secret' };
    expect(await keyOf({ headers })).toMatch(/^http\|POST\|Orders\.create\|[0-9a-f]{64}\|k-1$/);
    const principal = () => 'x'.repeat(256);
    expect(await keyOf({}, { principal })).toMatch(/\|[0-9a-f]{64}\|k-1$/);
  });

  it('asks the extractors', async () => {
    const extractors = {
      principal: async () => 'tenant-1',
      key: async () => 'mine',
      fingerprint: () => 'same',
    };
    const [one, two] = [await read({ body: 1 }, extractors), await read({ body: 2 }, extractors)];
    expect(one?.key).toBe('http|POST|Orders.create|tenant-1|mine');
    expect(one).toEqual(two);
  });

  it('keeps the parts apart, whatever is in them', async () => {
    const asked = async (principal: string, key: string) =>
      keyOf({}, { principal: () => principal, key: () => key });
    expect(await asked('a|b', 'c')).toBe(String.raw`http|POST|Orders.create|a\|b|c`);
    expect(await asked('a', 'b|c')).not.toBe(await asked('a|b', 'c'));
    expect(await asked(String.raw`a\|b`, 'c')).not.toBe(await asked('a|b', 'c'));
  });
});

describe('resolveIdempotentOptions', () => {
  it.each<[object, string]>([
    [{ ttl: 1 }, 'ttl'],
    [{ ttlMs: 0 }, 'ttlMs'],
    [{ key: 'requestId' }, 'key'],
    [{ headers: 'location' }, 'headers'],
    [{ headers: ['no header'] }, 'headers[0]'],
    [{ failOpen: 'yes' }, 'failOpen'],
  ])('refuses %p when the decorator runs', (options, field) => {
    expect(() => resolveIdempotentOptions(options)).toThrow(
      expect.objectContaining({ field, code: 'CONFIGURATION' }),
    );
  });
});
