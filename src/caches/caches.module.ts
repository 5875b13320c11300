/** Cached copies of slow data: rebuilt by jobs, read over HTTP. */
import { Module } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { createCacheClient } from './cache.connection.js';
import { CacheHandlers } from './cache.handlers.js';
import { CacheReader } from './cache.reader.js';
import { CacheStore } from './cache.store.js';
import { CachesController } from './caches.controller.js';
import { MemoryCacheStore } from './memory-cache.store.js';
import { RedisCacheStore } from './redis-cache.store.js';
import { SourceService } from './source.service.js';

@Module({
  controllers: [CachesController],
  providers: [
    CacheHandlers,
    CacheReader,
    SourceService,
    {
      provide: CacheStore,
      inject: [AppConfig],
      useFactory: ({ redisUrl, prefix }: AppConfig): CacheStore =>
        redisUrl === undefined
          ? new MemoryCacheStore()
          : new RedisCacheStore(createCacheClient(redisUrl), prefix),
    },
  ],
})
export class CachesModule {}
