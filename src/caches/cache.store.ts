/**
 * The port to where cached copies live. A copy is built where no reader sees it, page by page, and then
 * swapped in as a whole. Two implementations: Redis, and memory.
 */
import type { ResourceRef } from './rebuild-cache.job.js';
import type { Item } from './source.service.js';

export interface Copy {
  /** Fencing token of the run that built it. */
  readonly version: number;
  /** Since before its first page was read from the source, by the store's clock. */
  readonly ageMs: number;
  readonly items: readonly Item[];
}

/** `superseded`: a newer copy is there already; the one that was to replace it is dropped. */
export type SwapReply = 'swapped' | 'superseded';

export abstract class CacheStore {
  /** The copy that readers see. */
  abstract read(resource: ResourceRef): Promise<Copy | undefined>;

  /** Starts building a copy. Its age counts from here: what is read from now on is at least as new. */
  abstract begin(resource: ResourceRef, version: number): Promise<void>;

  /** Adds a page to the copy that is being built. */
  abstract addPage(
    resource: ResourceRef,
    version: number,
    page: number,
    items: readonly Item[],
  ): Promise<void>;

  /**
   * In one atomic step: makes the copy the one that readers see, unless a newer version is there.
   * @throws Error when the copy does not have all its `pages`, because it took so long that it expired.
   */
  abstract swapIn(resource: ResourceRef, version: number, pages: number): Promise<SwapReply>;
}

/** A copy that is still being built is dropped when nothing was added to it for this long: its worker died. */
export const ABANDONED_AFTER_MS = 10 * 60_000;
/** A copy that is never rebuilt is dropped after this. Readers stop using it long before. */
export const KEPT_FOR_MS = 24 * 60 * 60_000;

export function incompleteCopy(resource: ResourceRef, version: number): Error {
  return new Error(
    `Copy ${version} of ${resource.tenantId}/${resource.resourceId} expired before it was complete.`,
  );
}
