/** What each health check looks at; the same for the HTTP API and for worker processes. */
import { HttpException, Injectable } from '@nestjs/common';
import { HealthCheckService, type HealthIndicatorFunction } from '@nestjs/terminus';
import { LeaseHealthIndicator, QueueHealthIndicator, WorkerHealthIndicator } from '@fenceline/nestjs';

export interface HealthAnswer {
  readonly httpStatus: number;
  readonly body: unknown;
}

@Injectable()
export class HealthReport {
  constructor(
    private readonly health: HealthCheckService,
    private readonly queue: QueueHealthIndicator,
    private readonly leases: LeaseHealthIndicator,
    private readonly worker: WorkerHealthIndicator,
  ) {}

  /** For people and monitors: everything, with the thresholds that call for a look. */
  all(): Promise<HealthAnswer> {
    return this.answer([
      () => this.queue.isHealthy('queue'),
      () => this.leases.isHealthy('leases'),
      () => this.worker.isHealthy('worker'),
    ]);
  }

  /** Does the process answer at all? Looks at nothing else: restarting it does not bring a lost Redis back. */
  live(): Promise<HealthAnswer> {
    return this.answer([]);
  }

  /** Can this process do its work now? A long queue is no reason to stop accepting jobs. */
  ready(): Promise<HealthAnswer> {
    const reachable = { downDepth: Infinity, downOldestReadyMs: Infinity, downDead: Infinity };
    return this.answer([
      () => this.queue.isHealthy('queue', reachable),
      () => this.worker.isHealthy('worker'),
    ]);
  }

  private async answer(checks: HealthIndicatorFunction[]): Promise<HealthAnswer> {
    try {
      return { httpStatus: 200, body: await this.health.check(checks) };
    } catch (error) {
      // Terminus throws the result when something is down.
      if (error instanceof HttpException) return { httpStatus: error.getStatus(), body: error.getResponse() };
      throw error;
    }
  }
}
