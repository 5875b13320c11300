/** `POST /cache-rebuilds` asks for a fresh copy of a resource; `GET /caches/…` reads it. */
import { Body, Controller, Get, HttpCode, HttpStatus, Param, Post, Res } from '@nestjs/common';
import { QueueService } from '@fenceline/nestjs';
import type { Response } from 'express';
import { IdempotentRoute } from '../http/idempotent-route.js';
import { OptionalJobId } from '../http/optional-job-id.js';
import { type AcceptedJob, locateJob } from '../jobs/accepted-job.js';
import { CacheReader, type Reading } from './cache.reader.js';
import { RebuildCache, ResourceRef } from './rebuild-cache.job.js';

class RebuildCacheRequest extends ResourceRef {
  @OptionalJobId()
  readonly jobId?: string;
}

@Controller()
export class CachesController {
  constructor(
    private readonly queue: QueueService,
    private readonly reader: CacheReader,
  ) {}

  @Post('cache-rebuilds')
  @IdempotentRoute()
  @HttpCode(HttpStatus.ACCEPTED)
  async rebuild(
    @Body() { jobId, ...payload }: RebuildCacheRequest,
    @Res({ passthrough: true }) response: Response,
  ): Promise<AcceptedJob> {
    const job = await this.queue.enqueue(RebuildCache, payload, jobId === undefined ? {} : { jobId });
    return locateJob(response, job);
  }

  @Get('caches/:tenantId/:resourceId')
  async read(@Param() resource: ResourceRef): Promise<ResourceRef & Reading> {
    const { tenantId, resourceId } = resource;
    return { tenantId, resourceId, ...(await this.reader.read(resource)) };
  }
}
