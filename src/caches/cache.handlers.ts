/** Runs `rebuild_cache` jobs. */
import { Injectable } from '@nestjs/common';
import { type JobContext, JobHandler } from '@fenceline/nestjs';
import { CacheStore, type SwapReply } from './cache.store.js';
import { RebuildCache, ResourceRef } from './rebuild-cache.job.js';
import { SourceService } from './source.service.js';

interface RebuildResult {
  readonly version: number;
  readonly pages: number;
  readonly outcome: SwapReply;
}

@Injectable()
export class CacheHandlers {
  constructor(
    private readonly source: SourceService,
    private readonly store: CacheStore,
  ) {}

  /**
   * The fencing token is the copy's version. It only ever grows, so whatever a paused or doubled run
   * still writes, it can never replace the copy of a run that was given the job, or one like it, later.
   */
  @JobHandler(RebuildCache, { maxAttempts: 3, timeoutMs: 5 * 60_000 })
  async rebuild(resource: ResourceRef, job: JobContext): Promise<RebuildResult> {
    const version = job.fencingToken;
    await this.store.begin(resource, version);
    let pages = 0;
    for await (const items of this.source.pages(resource, job.signal)) {
      await this.store.addPage(resource, version, pages++, items);
    }
    return { version, pages, outcome: await this.store.swapIn(resource, version, pages) };
  }
}
