/** Health of this process and of the queue behind it. */
import { Module } from '@nestjs/common';
import { TerminusModule } from '@nestjs/terminus';
import { HealthController } from './health.controller.js';
import { HealthReport } from './health.report.js';
import { WorkerHealthServer } from './worker-health.server.js';

@Module({
  imports: [TerminusModule],
  controllers: [HealthController],
  providers: [HealthReport, WorkerHealthServer],
})
export class HealthModule {}
