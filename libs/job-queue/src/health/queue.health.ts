/** Health of the queues: how much waits, for how long, and how much is dead. */
import { Injectable } from '@nestjs/common';
import { type HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { HEALTH_DEFAULTS } from '../options/defaults.js';
import type { Keys } from '../options/option-checks.js';
import type { DataLoss } from '../queue/data-loss-watch.js';
import type { QueueSnapshot } from '../store/job-store.js';
import { answerInTime, judge, type Measurement, thresholds } from './health-check.js';
import { QueueSource } from './health-sources.js';

/** Thresholds apply to each queue by itself. `Infinity` turns one off. */
export interface QueueHealthOptions {
  /** Only this queue. Default: all that are configured in this process. */
  readonly queue?: string;
  /** Jobs that are ready and wait for a worker. */
  readonly degradedDepth?: number;
  readonly downDepth?: number;
  /** Age of the oldest job that is ready, ms. */
  readonly degradedOldestReadyMs?: number;
  readonly downOldestReadyMs?: number;
  /** Jobs in the dead-letter queue. */
  readonly degradedDead?: number;
  readonly downDead?: number;
}

type Thresholds = Readonly<Required<Omit<QueueHealthOptions, 'queue'>>>;

const KEYS: Keys<QueueHealthOptions> = {
  queue: true,
  degradedDepth: true,
  downDepth: true,
  degradedOldestReadyMs: true,
  downOldestReadyMs: true,
  degradedDead: true,
  downDead: true,
};
const { degradedDepth, downDepth, degradedOldestReadyMs, downOldestReadyMs, degradedDead, downDead } =
  HEALTH_DEFAULTS;
const DEFAULT_THRESHOLDS: Thresholds = {
  degradedDepth,
  downDepth,
  degradedOldestReadyMs,
  downOldestReadyMs,
  degradedDead,
  downDead,
};

@Injectable()
export class QueueHealthIndicator {
  constructor(
    private readonly health: HealthIndicatorService,
    private readonly source: QueueSource,
  ) {}

  /** For use in a Terminus `health.check([…])`. Never rejects: what goes wrong is `down` with a message. */
  isHealthy<const Key extends string>(
    key: Key,
    options: QueueHealthOptions = {},
  ): Promise<HealthIndicatorResult<Key>> {
    return answerInTime(this.health, key, async () => {
      const limits = thresholds(options, KEYS, DEFAULT_THRESHOLDS);
      const names = options.queue === undefined ? this.source.queueNames() : [options.queue];
      const snapshots = await Promise.all(names.map((name) => this.look(name)));
      const queues = Object.fromEntries(snapshots.map(({ name, snapshot }) => [name, show(snapshot)]));
      const measurements = snapshots.flatMap(({ name, snapshot, loss }) => [
        ...measure(name, snapshot, limits),
        ...measureLoss(name, loss),
      ]);
      return { ...judge(measurements), data: { queues } };
    });
  }

  private async look(name: string): Promise<{ name: string; snapshot: QueueSnapshot; loss?: DataLoss }> {
    const store = this.source.store(name);
    const [snapshot, mark] = await Promise.all([store.snapshot(), store.mark()]);
    const loss = this.source.dataLossOf(name, mark);
    return { name, snapshot, ...(loss && { loss }) };
  }
}

function show({ counts, paused, oldestReadyAgeMs }: QueueSnapshot): Record<string, unknown> {
  return { ...counts, oldestReadyAgeMs, paused };
}

/** No reason to take the process out of service: that would not bring the jobs back. */
function measureLoss(name: string, loss: DataLoss | undefined): Measurement[] {
  if (!loss) return [];
  const what = loss.lost === 'all' ? 'everything it held' : 'the latest of what it held';
  const text = `the store lost ${what} of queue "${name}" ${loss.agoMs} ms ago: jobs are missing`;
  return [{ text, value: 1, degradedFrom: 1, downFrom: Infinity }];
}

function measure(name: string, snapshot: QueueSnapshot, limits: Thresholds): Measurement[] {
  const { counts, oldestReadyAgeMs, paused } = snapshot;
  // A forgotten pause looks like dead workers otherwise.
  const queue = paused ? `paused queue "${name}"` : `queue "${name}"`;
  return [
    {
      text: `${queue} has ${counts.queued} jobs waiting`,
      value: counts.queued,
      degradedFrom: limits.degradedDepth,
      downFrom: limits.downDepth,
    },
    {
      text: `the oldest ready job of ${queue} has waited ${oldestReadyAgeMs} ms`,
      value: oldestReadyAgeMs,
      degradedFrom: limits.degradedOldestReadyMs,
      downFrom: limits.downOldestReadyMs,
    },
    {
      text: `${queue} has ${counts.dead} dead jobs`,
      value: counts.dead,
      degradedFrom: limits.degradedDead,
      downFrom: limits.downDead,
    },
  ];
}
