/** Starts the reference app for a test: on a free port, with keys and an outbox of its own. */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { INestApplication } from '@nestjs/common';
import { Redis } from 'ioredis';
import { AppConfig } from '../../../../src/config/app-config.js';
import { createApp } from '../../../../src/create-app.js';
import { ApiClient } from './api-client.js';

export type Env = Readonly<Record<string, string>>;

export interface TestApp {
  readonly app: INestApplication;
  readonly api: ApiClient;
  readonly outboxDir: string;
  close(): Promise<void>;
}

/** The stores to run a suite on. */
export const STORES: readonly { readonly store: string; readonly env: Env }[] = [
  { store: 'memory', env: {} },
  { store: 'redis', env: { REDIS_URL: requireRedisUrl() } },
];

/** A test that needs Redis fails without one; skipping it in silence would look like passing. */
export function requireRedisUrl(): string {
  const url = process.env['REDIS_URL'];
  if (!url) throw new Error('REDIS_URL is not set. `npm test` brings a Redis and sets it.');
  return url;
}

export function uniquePrefix(): string {
  return `test-${randomBytes(8).toString('hex')}`;
}

export async function startApp(env: Env): Promise<TestApp> {
  const outboxDir = await mkdtemp(join(tmpdir(), 'fenceline-outbox-'));
  const config = new AppConfig({
    PORT: '0',
    OUTBOX_DIR: outboxDir,
    FENCELINE_PREFIX: uniquePrefix(),
    SOURCE_DELAY_MS: '5',
    ACCOUNTING_DELAY_MS: '5',
    ...env,
  });
  const app = await createApp(config, ['fatal']);
  await app.listen(config.port, '127.0.0.1');
  return {
    app,
    api: new ApiClient(await app.getUrl()),
    outboxDir,
    close: async () => {
      await app.close();
      await rm(outboxDir, { recursive: true });
      await removeKeys(config);
    },
  };
}

/** Leaves the Redis as it was found. */
export async function removeKeys({
  redisUrl,
  prefix,
}: Pick<AppConfig, 'redisUrl' | 'prefix'>): Promise<void> {
  if (redisUrl === undefined) return;
  const redis = new Redis(redisUrl);
  for await (const keys of redis.scanStream({ match: `${prefix}:*`, count: 1_000 })) {
    if (keys.length > 0) await redis.unlink(keys);
  }
  await redis.quit();
}
