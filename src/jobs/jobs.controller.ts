/** `/jobs`: watch jobs, list them by status, and bring dead ones back. */
import { Controller, Get, HttpCode, HttpStatus, Param, Post, Query, UseGuards } from '@nestjs/common';
import { JOB_STATUSES, type JobStatus, QueueAdmin, QueueInspector } from '@fenceline/nestjs';
import { Type } from 'class-transformer';
import { IsIn, IsInt, IsOptional, IsString, Max, Min } from 'class-validator';
import { IdempotentRoute } from '../http/idempotent-route.js';
import { AdminGuard } from './admin.guard.js';
import { type JobView, viewOf } from './job.view.js';

class ListJobsQuery {
  @IsIn(JOB_STATUSES)
  readonly status!: JobStatus;

  @IsOptional()
  @Type(() => Number)
  @IsInt()
  @Min(1)
  @Max(100)
  readonly limit: number = 20;

  /** `nextCursor` of the page before. */
  @IsOptional()
  @IsString()
  readonly cursor?: string;
}

interface JobPage {
  readonly jobs: readonly JobView[];
  /** Absent on the last page. */
  readonly nextCursor: string | undefined;
}

@Controller('jobs')
export class JobsController {
  constructor(
    private readonly inspector: QueueInspector,
    private readonly admin: QueueAdmin,
  ) {}

  @Get()
  async list(@Query() { status, limit, cursor }: ListJobsQuery): Promise<JobPage> {
    const page = await this.inspector.list({ status, limit, ...(cursor !== undefined && { cursor }) });
    return { jobs: page.jobs.map(viewOf), nextCursor: page.nextCursor };
  }

  @Get(':jobId')
  async get(@Param('jobId') jobId: string): Promise<JobView> {
    return viewOf(await this.inspector.get(jobId));
  }

  /** Gives a dead job all its attempts again. That it cannot be done now is no answer to keep. */
  @Post(':jobId/redrive')
  @UseGuards(AdminGuard)
  @IdempotentRoute({ storeClientErrors: false })
  @HttpCode(HttpStatus.ACCEPTED)
  async redrive(@Param('jobId') jobId: string): Promise<JobView> {
    await this.admin.redrive(jobId);
    return viewOf(await this.inspector.get(jobId));
  }
}
