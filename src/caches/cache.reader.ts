/** Reads a resource: from the cached copy while it is fresh enough, else from the source itself. */
import { Injectable, Logger } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import { CacheStore, type Copy } from './cache.store.js';
import type { ResourceRef } from './rebuild-cache.job.js';
import { type Item, SourceService } from './source.service.js';

export interface Reading {
  readonly servedFrom: 'copy' | 'source';
  /** Version and age of the copy; absent when the source was read. */
  readonly version?: number;
  readonly ageMs?: number;
  readonly items: readonly Item[];
}

@Injectable()
export class CacheReader {
  private readonly logger = new Logger(CacheReader.name);

  constructor(
    private readonly config: AppConfig,
    private readonly store: CacheStore,
    private readonly source: SourceService,
  ) {}

  async read(resource: ResourceRef): Promise<Reading> {
    const copy = await this.readCopy(resource);
    if (copy && copy.ageMs <= this.config.cacheMaxAgeMs) return { servedFrom: 'copy', ...copy };

    const items: Item[] = [];
    for await (const page of this.source.pages(resource)) items.push(...page);
    return { servedFrom: 'source', items };
  }

  /** A cache that cannot be reached costs time, never an answer. */
  private async readCopy(resource: ResourceRef): Promise<Copy | undefined> {
    try {
      return await this.store.read(resource);
    } catch (error) {
      this.logger.warn(`The cache cannot be read, falling back to the source: ${String(error)}`);
      return undefined;
    }
  }
}
