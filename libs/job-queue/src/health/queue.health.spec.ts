import { describe, expect, it } from '@jest/globals';
import { HealthIndicatorService } from '@nestjs/terminus';
import { UnknownQueueError } from '../errors/errors.js';
import { HEALTH_DEFAULTS } from '../options/defaults.js';
import type { DataLoss } from '../queue/data-loss-watch.js';
import { type JobCounts, STATS, type Stat, type StatCounts } from '../store/job-store.js';
import { type ObservedStore, QueueSource } from './health-sources.js';
import { LeaseHealthIndicator } from './lease.health.js';
import { QueueHealthIndicator } from './queue.health.js';

const NO_JOBS: JobCounts = {
  scheduled: 0,
  queued: 0,
  blocked: 0,
  processing: 0,
  retrying: 0,
  done: 0,
  dead: 0,
  cancelled: 0,
};

interface Figures {
  readonly counts?: Partial<JobCounts>;
  readonly oldestReadyAgeMs?: number;
  readonly paused?: boolean;
  readonly recent?: Partial<Record<Stat, number>>;
  readonly loss?: DataLoss;
}

const NO_STATS: StatCounts = {
  enqueued: 0,
  duplicates: 0,
  replaced: 0,
  blocked: 0,
  done: 0,
  replayed: 0,
  retried: 0,
  dead: 0,
  cancelled: 0,
  released: 0,
  snoozed: 0,
  redriven: 0,
  lost_leases: 0,
  stale_refused: 0,
  runaways: 0,
};

class FakeSource extends QueueSource {
  readonly asked: { stats: readonly Stat[]; windowMs: number }[] = [];

  constructor(private readonly queues: Readonly<Record<string, Figures>>) {
    super();
  }

  queueNames(): readonly string[] {
    return Object.keys(this.queues);
  }

  dataLossOf(name: string): DataLoss | undefined {
    return this.queues[name]?.loss;
  }

  store(name = 'jobs'): ObservedStore {
    const figures = this.queues[name];
    if (figures === undefined) throw new UnknownQueueError(name, this.queueNames());
    return {
      snapshot: async () => ({
        counts: { ...NO_JOBS, ...figures.counts },
        paused: figures.paused ?? false,
        oldestReadyAgeMs: figures.oldestReadyAgeMs ?? 0,
        lifetime: NO_STATS,
      }),
      mark: async () => ({ createdAt: 1, counted: 0 }),
      recent: async (stats, windowMs) => {
        this.asked.push({ stats, windowMs });
        return figures.recent ?? {};
      },
    };
  }
}

const health = new HealthIndicatorService();
const queueHealth = (queues: Record<string, Figures>) =>
  new QueueHealthIndicator(health, new FakeSource(queues));
const leaseHealth = (queues: Record<string, Figures>) =>
  new LeaseHealthIndicator(health, new FakeSource(queues));

describe('QueueHealthIndicator', () => {
  it('shows every queue', async () => {
    const answer = await queueHealth({
      jobs: { counts: { queued: 3, done: 7 }, oldestReadyAgeMs: 20 },
      mail: { paused: true },
    }).isHealthy('queue');
    expect(answer).toEqual({
      queue: {
        status: 'up',
        queues: {
          jobs: { ...NO_JOBS, queued: 3, done: 7, oldestReadyAgeMs: 20, paused: false },
          mail: { ...NO_JOBS, oldestReadyAgeMs: 0, paused: true },
        },
      },
    });
  });

  it.each([
    ['queued', 'degraded', { counts: { queued: HEALTH_DEFAULTS.degradedDepth } }],
    ['queued', 'down', { counts: { queued: HEALTH_DEFAULTS.downDepth } }],
    ['age', 'degraded', { oldestReadyAgeMs: HEALTH_DEFAULTS.degradedOldestReadyMs }],
    ['age', 'down', { oldestReadyAgeMs: HEALTH_DEFAULTS.downOldestReadyMs }],
    ['dead', 'degraded', { counts: { dead: HEALTH_DEFAULTS.degradedDead } }],
    ['dead', 'down', { counts: { dead: HEALTH_DEFAULTS.downDead } }],
  ])('by %s is %s at the threshold', async (_, status, figures) => {
    const answer = await queueHealth({ mail: {}, jobs: figures }).isHealthy('queue');
    expect(answer.queue).toMatchObject({ status, message: expect.stringContaining('queue "jobs"') });
  });

  it('takes thresholds and a single queue', async () => {
    const indicator = queueHealth({ jobs: { counts: { queued: 5 } }, mail: { counts: { dead: 1_000_000 } } });
    const mild = { degradedDepth: 6, downDepth: 7 };
    expect((await indicator.isHealthy('a', { queue: 'jobs', ...mild })).a.status).toBe('up');
    expect((await indicator.isHealthy('a', { queue: 'jobs', downDepth: 5 })).a.status).toBe('down');
    const off = { degradedDead: Infinity, downDead: Infinity };
    expect((await indicator.isHealthy('a', { queue: 'mail', ...off })).a.status).toBe('up');
  });

  it('is degraded after its store lost data, and says how much and which queue', async () => {
    const loss = { lost: 'all', agoMs: 1_200 } as const;
    const answer = await queueHealth({ mail: {}, jobs: { loss } }).isHealthy('a');
    expect(answer.a.status).toBe('degraded');
    expect(answer.a).toMatchObject({
      message: expect.stringContaining('lost everything it held of queue "jobs" 1200 ms ago'),
    });
  });

  it('names a pause', async () => {
    const answer = await queueHealth({ jobs: { paused: true, oldestReadyAgeMs: 1e9 } }).isHealthy('a');
    expect(answer.a).toMatchObject({ message: expect.stringContaining('paused queue "jobs"') });
  });

  it('is down for an unknown queue and for options that mean nothing', async () => {
    const indicator = queueHealth({ jobs: {} });
    expect((await indicator.isHealthy('a', { queue: 'nope' })).a).toMatchObject({
      status: 'down',
      message: expect.stringContaining('no queue "nope"'),
    });
    expect((await indicator.isHealthy('a', JSON.parse('{"downDeath":1}'))).a).toMatchObject({
      status: 'down',
      message: expect.stringContaining('did you mean downDe'),
    });
    expect((await indicator.isHealthy('a', { downDead: NaN })).a.status).toBe('down');
  });
});

describe('LeaseHealthIndicator', () => {
  it('counts lost leases and stale refusals over the window', async () => {
    const source = new FakeSource({ jobs: { recent: { lost_leases: 2, stale_refused: 1 } } });
    const indicator = new LeaseHealthIndicator(health, source);
    const limits = { windowMs: 120_000, degradedLostLeases: 3, downLostLeases: 4 };
    expect(await indicator.isHealthy('lease', limits)).toEqual({
      lease: { status: 'up', windowMs: 120_000, queues: { jobs: { lostLeases: 2, staleRefused: 1 } } },
    });
    expect(source.asked).toEqual([{ stats: ['lost_leases', 'stale_refused'], windowMs: 120_000 }]);
    expect(STATS).toEqual(expect.arrayContaining([...(source.asked[0]?.stats ?? [])]));
  });

  it.each([
    ['degraded', { lost_leases: HEALTH_DEFAULTS.degradedLostLeases }],
    ['degraded', { stale_refused: HEALTH_DEFAULTS.degradedLostLeases }],
    ['down', { lost_leases: HEALTH_DEFAULTS.downLostLeases }],
    ['up', {}],
  ])('is %s at %j', async (status, recent) => {
    const answer = await leaseHealth({ jobs: { recent } }).isHealthy('lease');
    expect(answer.lease.status).toBe(status);
  });

  it('is down for a window the store cannot answer', async () => {
    const answer = await leaseHealth({ jobs: {} }).isHealthy('lease', { windowMs: 1_000 });
    expect(answer.lease).toMatchObject({ status: 'down', message: expect.stringContaining('by the minute') });
  });
});
