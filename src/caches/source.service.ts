/** Stands for the slow system whose data is worth caching: it answers page by page, always the same. */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';
import type { ResourceRef } from './rebuild-cache.job.js';

export interface Item {
  readonly sku: string;
  readonly priceCents: number;
}

const PAGES = 3;
const ITEMS_PER_PAGE = 4;

@Injectable()
export class SourceService {
  constructor(private readonly config: AppConfig) {}

  /** Reading stops with an error when `signal` aborts. */
  async *pages(resource: ResourceRef, signal?: AbortSignal): AsyncGenerator<readonly Item[]> {
    for (let page = 0; page < PAGES; page++) {
      await sleep(this.config.sourceDelayMs, undefined, { signal });
      yield Array.from({ length: ITEMS_PER_PAGE }, (_, index) =>
        itemOf(resource, page * ITEMS_PER_PAGE + index),
      );
    }
  }
}

function itemOf({ tenantId, resourceId }: ResourceRef, index: number): Item {
  const digest = createHash('sha256').update(`${tenantId}/${resourceId}/${index}`).digest();
  return { sku: `${resourceId}-${index}`, priceCents: 100 + (digest.readUInt16BE() % 9_900) };
}
