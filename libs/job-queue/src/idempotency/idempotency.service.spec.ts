import { describe, expect, it, jest } from '@jest/globals';
import { InvalidOptionError } from '../errors/errors.js';
import { MemoryIdempotencyStore } from '../store/memory/memory-idempotency-store.js';
import { IdempotencyClaims } from './idempotency-claims.js';
import { IdempotencyEvents } from './idempotency-events.js';
import { IdempotencyService } from './idempotency.service.js';

function create(warn = (_line: string): void => {}) {
  const events = new IdempotencyEvents({ warn });
  const store = new MemoryIdempotencyStore();
  return { service: new IdempotencyService(new IdempotencyClaims(store, events)), events, store };
}

describe('IdempotencyService', () => {
  it.each([
    [{ ttlMs: 0 }, 'ttlMs'],
    [{ leaseMs: 1 }, 'leaseMs'],
    [{ waitMs: -1 }, 'waitMs'],
    [{ signal: {} as AbortSignal }, 'signal'],
    [Object({ ttl: 5 }), 'ttl'],
    [{ fingerprint: 1n }, 'fingerprint'],
  ])('refuses the options %p', async (options: object, field) => {
    const { service, events } = create();
    await expect(service.run('key', options, () => 1)).rejects.toMatchObject({ field });
    expect(events.counts()).toMatchObject({ started: 0 });
  });

  it.each(['', 'x'.repeat(256), '\ud800'])('refuses the key %j', async (key) => {
    await expect(create().service.run(key, {}, () => 1)).rejects.toThrow(InvalidOptionError);
  });

  it('logs what a person should see, on one line, and nothing else', async () => {
    const lines: string[] = [];
    const { service, store } = create((line) => lines.push(line));
    await service.run('key', {}, () => 1);
    await service.run('key', {}, () => 1);
    expect(lines).toEqual([]);
    jest.spyOn(store, 'complete').mockResolvedValueOnce(false);
    await expect(service.run('other\nkey', {}, () => 1)).rejects.toMatchObject({ code: 'IDEMPOTENCY_LOST' });
    expect(lines).toEqual([
      expect.stringMatching(
        /^event=idempotency_stale_refused idempotency_key="service\|other\\nkey" fencing_token=\d+ reason=".+"$/,
      ),
    ]);
  });

  it('tells its listeners, and is not harmed by one that throws', async () => {
    const { service, events } = create();
    const seen: string[] = [];
    events.on(() => {
      throw new Error('listener');
    });
    const stop = events.on(({ event, key }) => seen.push(`${event} ${key}`));
    await service.run('key', {}, () => 1);
    stop();
    await service.run('key', {}, () => 1);
    expect(seen).toEqual(['started service|key', 'done service|key']);
  });

  it('does not begin when its lease was over before the grant was read', async () => {
    const { service, store } = create();
    const leaseMs = 200;
    const begin = store.begin.bind(store);
    jest.spyOn(store, 'begin').mockImplementationOnce(async (...request) => {
      const grant = await begin(...request);
      await new Promise((resolve) => setTimeout(resolve, leaseMs));
      return grant;
    });
    const operation = jest.fn(() => 1);
    await expect(service.run('key', { leaseMs }, operation)).rejects.toMatchObject({
      code: 'IDEMPOTENCY_LOST',
    });
    expect(operation).not.toHaveBeenCalled();
    expect(await service.run('key', {}, operation)).toBe(1);
  });
});
