/** Health of this process's workers: whether their claim loops still turn. */
import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { HEALTH_DEFAULTS } from '../options/defaults.js';
import type { Keys } from '../options/option-checks.js';
import { answerInTime, judge, thresholds } from './health-check.js';
import { WorkerSource } from './health-sources.js';

export interface WorkerHealthOptions {
  /** Only the workers of this queue. Default: all of this process. */
  readonly queue?: string;
  /** A worker whose loop last turned this long ago is wedged, ms. An idle one turns every few seconds. */
  readonly downLoopAgeMs?: number;
}

const KEYS: Keys<WorkerHealthOptions> = { queue: true, downLoopAgeMs: true };

@Injectable()
export class WorkerHealthIndicator {
  constructor(
    private readonly health: HealthIndicatorService,
    private readonly source: WorkerSource,
  ) {}

  /** For use in a Terminus `health.check([…])`. Never rejects: what goes wrong is `down` with a message. */
  isHealthy<const Key extends string>(
    key: Key,
    options: WorkerHealthOptions = {},
  ): Promise<HealthIndicatorResult<Key>> {
    return answerInTime(this.health, key, () => {
      const { downLoopAgeMs } = HEALTH_DEFAULTS;
      const limits = thresholds(options, KEYS, { downLoopAgeMs });
      const { queue } = options;
      const workers = this.source
        .workers()
        .filter((worker) => queue === undefined || worker.queue === queue)
        .map((worker) => ({
          queue: worker.queue,
          workerId: worker.workerId,
          loopAgeMs: Math.round(worker.loopAgeMs()),
        }));
      if (workers.length === 0) {
        // A process that only enqueues is healthy without workers.
        const whose = queue === undefined ? 'no worker' : `no worker of queue "${queue}"`;
        return { verdict: 'up', reasons: [`${whose} runs in this process`], data: { workers } };
      }
      const measurements = workers.map(({ queue: name, workerId, loopAgeMs }) => ({
        text: `worker "${workerId}" of queue "${name}" is wedged: its claim loop last turned ${loopAgeMs} ms ago`,
        value: loopAgeMs,
        degradedFrom: Infinity,
        downFrom: limits.downLoopAgeMs,
      }));
      return { ...judge(measurements), data: { workers } };
    });
  }
}
