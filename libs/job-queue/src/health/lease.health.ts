/** Health of the leases: how many were lost lately, in all processes together. */
import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { HEALTH_DEFAULTS, INTERNAL } from '../options/defaults.js';
import { integerOption, type Keys, type Range } from '../options/option-checks.js';
import { answerInTime, judge, thresholds } from './health-check.js';
import { QueueSource } from './health-sources.js';

/** Thresholds apply to each queue by itself. `Infinity` turns one off. */
export interface LeaseHealthOptions {
  /** Only this queue. Default: all that are configured in this process. */
  readonly queue?: string;
  /** How far back to look, ms, in whole minutes. */
  readonly windowMs?: number;
  /** Lost leases within the window. Outcomes that were refused as stale count against the same figures. */
  readonly degradedLostLeases?: number;
  readonly downLostLeases?: number;
}

const KEYS: Keys<LeaseHealthOptions> = {
  queue: true,
  windowMs: true,
  degradedLostLeases: true,
  downLostLeases: true,
};
const WINDOW: Range = {
  min: 60_000,
  max: 2 * 60 * 60_000,
  why: 'the store counts by the minute and remembers two hours',
};

@Injectable()
export class LeaseHealthIndicator {
  constructor(
    private readonly health: HealthIndicatorService,
    private readonly source: QueueSource,
  ) {}

  /** For use in a Terminus `health.check([…])`. Never rejects: what goes wrong is `down` with a message. */
  isHealthy<const Key extends string>(
    key: Key,
    options: LeaseHealthOptions = {},
  ): Promise<HealthIndicatorResult<Key>> {
    return answerInTime(this.health, key, async () => {
      const { degradedLostLeases, downLostLeases } = HEALTH_DEFAULTS;
      const limits = thresholds(options, KEYS, { degradedLostLeases, downLostLeases });
      const windowMs = integerOption('windowMs', options.windowMs, INTERNAL.leaseWindowMs, WINDOW);
      const names = options.queue === undefined ? this.source.queueNames() : [options.queue];
      const counted = await Promise.all(names.map((name) => this.count(name, windowMs)));
      const measurements = counted.flatMap(({ name, lostLeases, staleRefused }) =>
        [
          { text: `queue "${name}" lost ${lostLeases} leases in ${windowMs} ms`, value: lostLeases },
          {
            text: `queue "${name}" refused ${staleRefused} stale outcomes in ${windowMs} ms`,
            value: staleRefused,
          },
        ].map((figure) => ({
          ...figure,
          degradedFrom: limits.degradedLostLeases,
          downFrom: limits.downLostLeases,
        })),
      );
      const queues = Object.fromEntries(
        counted.map(({ name, lostLeases, staleRefused }) => [name, { lostLeases, staleRefused }]),
      );
      return { ...judge(measurements), data: { windowMs, queues } };
    });
  }

  private async count(
    name: string,
    windowMs: number,
  ): Promise<{ name: string; lostLeases: number; staleRefused: number }> {
    const recent = await this.source.store(name).recent(['lost_leases', 'stale_refused'], windowMs);
    return { name, lostLeases: recent.lost_leases ?? 0, staleRefused: recent.stale_refused ?? 0 };
  }
}
