/** Cached copies in Redis, shared by all processes. */
import type { OnApplicationShutdown, OnModuleInit } from '@nestjs/common';
import type { Redis } from 'ioredis';
import {
  ABANDONED_AFTER_MS,
  CacheStore,
  type Copy,
  incompleteCopy,
  KEPT_FOR_MS,
  type SwapReply,
} from './cache.store.js';
import type { ResourceRef } from './rebuild-cache.job.js';
import { ADD_PAGE, BEGIN, SWAP_IN } from './redis-cache.scripts.js';
import type { Item } from './source.service.js';

export class RedisCacheStore extends CacheStore implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly redis: Redis,
    private readonly prefix: string,
  ) {
    super();
  }

  /** Waits for the connection, so that the first job finds it. Without Redis the app starts all the same. */
  async onModuleInit(): Promise<void> {
    await this.redis.connect().catch(() => {});
  }

  /** The last of Nest's hooks: running jobs and open requests are finished by then. */
  onApplicationShutdown(): void {
    this.redis.disconnect();
  }

  override async read(resource: ResourceRef): Promise<Copy | undefined> {
    const [fields, time] = await Promise.all([this.redis.hgetall(this.liveKey(resource)), this.redis.time()]);
    const { version, begun_at: begunAt, ...pages } = fields;
    if (version === undefined) return undefined;
    return {
      version: Number(version),
      ageMs: millisecondsOf(time) - Number(begunAt),
      items: Object.keys(pages)
        .toSorted((a, b) => Number(a) - Number(b))
        .flatMap((page): Item[] => JSON.parse(pages[page] ?? '[]')),
    };
  }

  override async begin(resource: ResourceRef, version: number): Promise<void> {
    await this.redis.eval(BEGIN, 1, this.buildingKey(resource, version), version, ABANDONED_AFTER_MS);
  }

  override async addPage(
    resource: ResourceRef,
    version: number,
    page: number,
    items: readonly Item[],
  ): Promise<void> {
    const key = this.buildingKey(resource, version);
    await this.redis.eval(ADD_PAGE, 1, key, page, JSON.stringify(items), ABANDONED_AFTER_MS);
  }

  override async swapIn(resource: ResourceRef, version: number, pages: number): Promise<SwapReply> {
    const keys = [this.liveKey(resource), this.buildingKey(resource, version)];
    const reply = await this.redis.eval(SWAP_IN, keys.length, ...keys, version, pages, KEPT_FOR_MS);
    if (reply === 'swapped' || reply === 'superseded') return reply;
    throw incompleteCopy(resource, version);
  }

  private liveKey(resource: ResourceRef): string {
    return `${this.keyPrefix(resource)}:live`;
  }

  /** One per run, so that two runs never write into one copy. */
  private buildingKey(resource: ResourceRef, version: number): string {
    return `${this.keyPrefix(resource)}:building:${version}`;
  }

  /** The braces make Redis Cluster keep all keys of a resource in one slot, which RENAME needs. */
  private keyPrefix({ tenantId, resourceId }: ResourceRef): string {
    return `${this.prefix}:cache:{${tenantId}:${resourceId}}`;
  }
}

function millisecondsOf([seconds, microseconds]: readonly (number | string)[]): number {
  return Number(seconds) * 1000 + Math.floor(Number(microseconds) / 1000);
}
