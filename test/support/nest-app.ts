/** A Nest app with the module and the providers of a test, on either store. */
import 'reflect-metadata';
import { Module, type INestApplicationContext, type ModuleMetadata } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  JobQueueModule,
  QueueAdmin,
  QueueInspector,
  QueueService,
  type JobQueueModuleOptions,
} from '@fenceline/nestjs';
import { deletePrefix, newPrefix, openRedis, redisUrl } from './redis.js';

export type StoreKind = 'memory' | 'redis';
export const STORES: readonly StoreKind[] = ['memory', 'redis'];

export interface TestApp {
  readonly context: INestApplicationContext;
  readonly queue: QueueService;
  readonly inspector: QueueInspector;
  readonly admin: QueueAdmin;
  readonly prefix: string;
  close(): Promise<void>;
}

export interface TestAppOptions {
  readonly store?: StoreKind;
  readonly options?: JobQueueModuleOptions;
  readonly providers?: NonNullable<ModuleMetadata['providers']>;
  readonly imports?: NonNullable<ModuleMetadata['imports']>;
}

/** Retries at once and short leases, so that tests need not wait. */
export const QUICK_QUEUE = {
  name: 'jobs',
  leaseMs: 2_000,
  backoff: { baseDelayMs: 10, maxDelayMs: 40 },
} as const;

export async function startApp({
  store = 'redis',
  options = {},
  providers = [],
  imports = [],
}: TestAppOptions = {}): Promise<TestApp> {
  const prefix = newPrefix();
  const connection = store === 'memory' ? ('memory' as const) : { url: redisUrl() };

  @Module({
    imports: [
      JobQueueModule.forRoot({ connection, prefix, queues: [QUICK_QUEUE], logging: false, ...options }),
      ...imports,
    ],
    providers,
  })
  class TestModule {}

  const context = await NestFactory.createApplicationContext(TestModule, {
    logger: false,
    abortOnError: false,
  });
  return {
    context,
    queue: context.get(QueueService),
    inspector: context.get(QueueInspector),
    admin: context.get(QueueAdmin),
    prefix,
    close: async () => {
      await context.close();
      if (store === 'redis') {
        const redis = openRedis();
        await deletePrefix(redis, prefix);
        redis.disconnect();
      }
    },
  };
}
