import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { CacheReader } from '../../../src/caches/cache.reader.js';
import type { CacheStore } from '../../../src/caches/cache.store.js';
import { createCacheClient } from '../../../src/caches/cache.connection.js';
import { MemoryCacheStore } from '../../../src/caches/memory-cache.store.js';
import { RedisCacheStore } from '../../../src/caches/redis-cache.store.js';
import { SourceService } from '../../../src/caches/source.service.js';
import { AppConfig } from '../../../src/config/app-config.js';
import { eventually } from './support/eventually.js';
import { removeKeys, requireRedisUrl, startApp, STORES, type TestApp, uniquePrefix } from './support/app.js';

const RESOURCE = { tenantId: 'acme', resourceId: 'prices' };

describe.each(STORES)('caches over HTTP, $store store', ({ env }) => {
  let test: TestApp;

  beforeAll(async () => {
    test = await startApp(env);
  });
  afterAll(() => test.close());

  async function rebuild() {
    const { status, body } = await test.api.post('/cache-rebuilds', RESOURCE);
    expect(status).toBe(202);
    return test.api.jobInStatus(String(body.jobId), 'done');
  }

  it('reads from the source until a rebuild swapped a copy in, then from the copy', async () => {
    const before = await test.api.get('/caches/acme/prices');
    expect(before.body).toMatchObject({ ...RESOURCE, servedFrom: 'source' });
    expect(before.body['items']).toHaveLength(12);

    const job = await rebuild();
    expect(job).toMatchObject({ type: 'rebuild_cache', maxAttempts: 3 });
    expect(job['result']).toEqual({ version: job['fencingToken'], pages: 3, outcome: 'swapped' });

    const after = await test.api.get('/caches/acme/prices');
    expect(after.body).toEqual({
      ...RESOURCE,
      servedFrom: 'copy',
      version: job['fencingToken'],
      ageMs: expect.any(Number),
      items: before.body['items'],
    });
  });

  it('replaces the copy with that of a later run', async () => {
    const first = await rebuild();
    const second = await rebuild();
    expect(second['fencingToken']).toBeGreaterThan(Number(first['fencingToken']));
    const { body } = await test.api.get('/caches/acme/prices');
    expect(body['version']).toBe(second['fencingToken']);
  });

  it('keeps resources and tenants apart', async () => {
    await rebuild();
    for (const path of ['/caches/acme/stock', '/caches/other/prices']) {
      expect((await test.api.get(path)).body).toMatchObject({ servedFrom: 'source' });
    }
  });
});

interface StoreUnderTest {
  readonly store: CacheStore;
  close(): Promise<void>;
}

function memoryStore(): StoreUnderTest {
  return { store: new MemoryCacheStore(), close: async () => {} };
}

function redisStore(redisUrl: string) {
  return async (): Promise<StoreUnderTest> => {
    const prefix = uniquePrefix();
    const store = new RedisCacheStore(createCacheClient(redisUrl), prefix);
    await store.onModuleInit();
    const close = async () => {
      store.onApplicationShutdown();
      await removeKeys({ redisUrl, prefix });
    };
    return { store, close };
  };
}

const FACTORIES = STORES.map(({ store, env }) => ({
  name: store,
  create: env['REDIS_URL'] === undefined ? memoryStore : redisStore(env['REDIS_URL']),
}));

describe.each(FACTORIES)('CacheStore, $name', ({ create }) => {
  let test: StoreUnderTest;
  let store: CacheStore;
  const itemsOf = (version: number, page = 0) => [{ sku: `page-${page}`, priceCents: version }];

  beforeEach(async () => {
    test = await create();
    ({ store } = test);
  });
  afterEach(() => test.close());

  async function build(version: number) {
    await store.begin(RESOURCE, version);
    for (const page of [0, 1]) await store.addPage(RESOURCE, version, page, itemsOf(version, page));
  }

  it('shows nothing of a copy that is still being built', async () => {
    await build(5);
    expect(await store.read(RESOURCE)).toBeUndefined();
  });

  it('shows all of a copy once it is swapped in', async () => {
    await build(5);
    expect(await store.swapIn(RESOURCE, 5, 2)).toBe('swapped');
    expect(await store.read(RESOURCE)).toEqual({
      version: 5,
      ageMs: expect.any(Number),
      items: [...itemsOf(5, 0), ...itemsOf(5, 1)],
    });
  });

  it('keeps the pages in order, more than ten too', async () => {
    await store.begin(RESOURCE, 5);
    for (let page = 11; page >= 0; page--) await store.addPage(RESOURCE, 5, page, itemsOf(5, page));
    await store.swapIn(RESOURCE, 5, 12);
    const copy = await store.read(RESOURCE);
    expect(copy?.items.map(({ sku }) => sku)).toEqual(
      Array.from({ length: 12 }, (_, page) => `page-${page}`),
    );
  });

  it('never lets an older run replace the copy of a newer one, whichever finishes first', async () => {
    await build(1_790_000_000_000_001);
    await build(1_790_000_000_000_002);
    expect(await store.swapIn(RESOURCE, 1_790_000_000_000_002, 2)).toBe('swapped');
    expect(await store.swapIn(RESOURCE, 1_790_000_000_000_001, 2)).toBe('superseded');
    expect(await store.read(RESOURCE)).toMatchObject({ version: 1_790_000_000_000_002 });
  });

  it('answers a repeated swap like the first', async () => {
    await build(5);
    await store.swapIn(RESOURCE, 5, 2);
    expect(await store.swapIn(RESOURCE, 5, 2)).toBe('swapped');
  });

  it('does not swap in a copy that lacks a page', async () => {
    await build(5);
    await store.swapIn(RESOURCE, 5, 2);
    await build(6);
    await expect(store.swapIn(RESOURCE, 6, 3)).rejects.toThrow('before it was complete');
    expect(await store.read(RESOURCE)).toMatchObject({ version: 5 });
  });

  it('does not bring back a copy that expired while it was being built', async () => {
    await store.addPage(RESOURCE, 5, 0, itemsOf(5));
    await expect(store.swapIn(RESOURCE, 5, 1)).rejects.toThrow('before it was complete');
  });

  it('is read by a reader only while it is fresh enough', async () => {
    await build(5);
    await store.swapIn(RESOURCE, 5, 2);
    const source = new SourceService(new AppConfig({ SOURCE_DELAY_MS: '1' }));
    const patient = new CacheReader(new AppConfig({ CACHE_MAX_AGE_MS: '3600000' }), store, source);
    expect(await patient.read(RESOURCE)).toMatchObject({ servedFrom: 'copy', version: 5 });

    const impatient = new CacheReader(new AppConfig({ CACHE_MAX_AGE_MS: '0' }), store, source);
    await eventually(
      () => store.read(RESOURCE),
      (copy) => copy !== undefined && copy.ageMs > 0,
    );
    const reading = await impatient.read(RESOURCE);
    expect(reading).toMatchObject({ servedFrom: 'source' });
    expect(reading).not.toHaveProperty('version');
  });
});

describe('copies that nobody finishes', () => {
  it('are forgotten in memory', async () => {
    let now = 0;
    const store = new MemoryCacheStore(() => now);
    await store.begin(RESOURCE, 5);
    now += 11 * 60_000;
    await store.addPage(RESOURCE, 5, 0, []);
    await expect(store.swapIn(RESOURCE, 5, 1)).rejects.toThrow('before it was complete');
  });

  it('are counted as old from when they were begun', async () => {
    let now = 0;
    const store = new MemoryCacheStore(() => now);
    await store.begin(RESOURCE, 5);
    await store.addPage(RESOURCE, 5, 0, []);
    now += 5_000;
    await store.swapIn(RESOURCE, 5, 1);
    expect(await store.read(RESOURCE)).toMatchObject({ ageMs: 5_000 });
  });

  it('expire in Redis, and so do copies that nobody rebuilds', async () => {
    const redisUrl = requireRedisUrl();
    const redis = new Redis(redisUrl);
    const prefix = uniquePrefix();
    const store = new RedisCacheStore(redis, prefix);
    await store.begin(RESOURCE, 5);
    await store.addPage(RESOURCE, 5, 0, []);
    expect(await redis.pttl(`${prefix}:cache:{acme:prices}:building:5`)).toBeGreaterThan(0);
    await store.swapIn(RESOURCE, 5, 1);
    expect(await redis.exists(`${prefix}:cache:{acme:prices}:building:5`)).toBe(0);
    expect(await redis.pttl(`${prefix}:cache:{acme:prices}:live`)).toBeGreaterThan(60 * 60_000);
    await redis.quit();
    await removeKeys({ redisUrl, prefix });
  });

  it('are no trouble for readers when the cache cannot be reached', async () => {
    const store = new RedisCacheStore(createCacheClient('redis://127.0.0.1:1'), 'unreachable');
    await store.onModuleInit();
    const reader = new CacheReader(
      new AppConfig({}),
      store,
      new SourceService(new AppConfig({ SOURCE_DELAY_MS: '1' })),
    );
    expect(await reader.read(RESOURCE)).toMatchObject({ servedFrom: 'source' });
    store.onApplicationShutdown();
  });
});
