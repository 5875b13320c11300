/** Cached copies in this process: for development without Redis, together with the memory job store. */
import {
  ABANDONED_AFTER_MS,
  CacheStore,
  type Copy,
  incompleteCopy,
  KEPT_FOR_MS,
  type SwapReply,
} from './cache.store.js';
import type { ResourceRef } from './rebuild-cache.job.js';
import type { Item } from './source.service.js';

interface StoredCopy {
  readonly version: number;
  readonly begunAt: number;
  readonly pages: ReadonlyMap<number, readonly Item[]>;
  readonly expiresAt: number;
}

export class MemoryCacheStore extends CacheStore {
  private readonly copies = new Map<string, StoredCopy>();

  constructor(private readonly now: () => number = Date.now) {
    super();
  }

  override async read(resource: ResourceRef): Promise<Copy | undefined> {
    const copy = this.get(liveKey(resource));
    if (!copy) return undefined;
    const pages = [...copy.pages].toSorted(([a], [b]) => a - b);
    return {
      version: copy.version,
      ageMs: this.now() - copy.begunAt,
      items: pages.flatMap(([, items]) => items),
    };
  }

  override async begin(resource: ResourceRef, version: number): Promise<void> {
    this.dropExpired();
    const copy = { version, begunAt: this.now(), pages: new Map() };
    this.put(buildingKey(resource, version), copy, ABANDONED_AFTER_MS);
  }

  override async addPage(
    resource: ResourceRef,
    version: number,
    page: number,
    items: readonly Item[],
  ): Promise<void> {
    const key = buildingKey(resource, version);
    const copy = this.get(key);
    if (!copy) return;
    this.put(key, { ...copy, pages: new Map(copy.pages).set(page, items) }, ABANDONED_AFTER_MS);
  }

  override async swapIn(resource: ResourceRef, version: number, pages: number): Promise<SwapReply> {
    const key = buildingKey(resource, version);
    const copy = this.get(key);
    const current = this.get(liveKey(resource))?.version ?? 0;
    if (current === version) return 'swapped';
    if (current > version) {
      this.copies.delete(key);
      return 'superseded';
    }
    if (copy?.pages.size !== pages) throw incompleteCopy(resource, version);
    this.copies.delete(key);
    this.put(liveKey(resource), copy, KEPT_FOR_MS);
    return 'swapped';
  }

  private get(key: string): StoredCopy | undefined {
    const copy = this.copies.get(key);
    return copy && copy.expiresAt > this.now() ? copy : undefined;
  }

  private put(key: string, copy: Omit<StoredCopy, 'expiresAt'>, expiryMs: number): void {
    this.copies.set(key, { ...copy, expiresAt: this.now() + expiryMs });
  }

  private dropExpired(): void {
    for (const key of this.copies.keys()) if (!this.get(key)) this.copies.delete(key);
  }
}

function liveKey({ tenantId, resourceId }: ResourceRef): string {
  return `${tenantId}:${resourceId}:live`;
}

function buildingKey({ tenantId, resourceId }: ResourceRef, version: number): string {
  return `${tenantId}:${resourceId}:building:${version}`;
}
