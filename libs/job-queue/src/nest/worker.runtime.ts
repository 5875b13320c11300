/** Runs workers and maintenance in a process that shall have them, and keeps `@Cron` from needing the app's help. */
import { Inject, Injectable } from '@nestjs/common';
import { ModuleRef } from '@nestjs/core';
import { SchedulerRegistry } from '@nestjs/schedule';
import { PrunerService } from '../maintenance/pruner.service.js';
import { ReaperService } from '../maintenance/reaper.service.js';
import { RetryPromoterService } from '../maintenance/retry-promoter.service.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import { WorkerPool } from '../worker/worker-pool.js';
import { RESOLVED_OPTIONS } from './tokens.js';

const TICK_MS = 1_000;

@Injectable()
export class WorkerRuntime {
  private readonly timers: NodeJS.Timeout[] = [];

  constructor(
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    private readonly pool: WorkerPool,
    private readonly reaper: ReaperService,
    private readonly promoter: RetryPromoterService,
    private readonly pruner: PrunerService,
    private readonly moduleRef: ModuleRef,
  ) {}

  start(): void {
    if (!this.options.worker) return;
    const { cronJobs } = this;
    for (const service of [this.reaper, this.promoter, this.pruner]) {
      service.task.enable();
      // The app's own ScheduleModule found our @Cron, or the app has none. Importing it ourselves would make
      // every cron of an app that has its own fire twice (measured).
      if (cronJobs.has(service.cronName)) continue;
      this.timers.push(setInterval(() => void service.tick(), TICK_MS));
    }
    this.pool.start();
  }

  async stop(): Promise<void> {
    for (const timer of this.timers.splice(0)) clearInterval(timer);
    for (const { task } of [this.reaper, this.promoter, this.pruner]) task.disable();
    await this.pool.stop();
  }

  private get cronJobs(): ReadonlyMap<string, unknown> {
    try {
      return this.moduleRef.get(SchedulerRegistry, { strict: false }).getCronJobs();
    } catch {
      return new Map();
    }
  }
}
