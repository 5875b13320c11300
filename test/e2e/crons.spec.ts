/** The maintenance crons: each ticks once, whatever scheduler the app has, and never over itself. */
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { Cron, ScheduleModule } from '@nestjs/schedule';
import { PrunerService } from '#lib/maintenance/pruner.service.js';
import { ReaperService } from '#lib/maintenance/reaper.service.js';
import { RetryPromoterService } from '#lib/maintenance/retry-promoter.service.js';
import { QueueRegistry } from '#lib/queue/queue-registry.js';
import type { JobStore } from '#lib/store/job-store.js';
import { eventually } from '../support/eventually.js';
import { Gate } from '../support/gate.js';
import { QUICK_QUEUE, startApp, type TestApp, type TestAppOptions } from '../support/nest-app.js';

jest.setTimeout(20_000);

const MAINTENANCE = { reapIntervalMs: 1_000, promoteIntervalMs: 1_000, pruneIntervalMs: 2_000 };
const SERVICES = [ReaperService, RetryPromoterService, PrunerService];
/** Two ticks lie a second apart; doubled ones would come in pairs. A late timer may shift one of them. */
const LEAST_GAP_MS = 500;

@Injectable()
class AppCrons {
  readonly ticks: number[] = [];

  @Cron('* * * * * *', { name: 'of the app' })
  tick(): void {
    this.ticks.push(performance.now());
  }
}

class Watched {
  readonly ticks = new Map<unknown, number[]>(SERVICES.map((service) => [service, []]));
  private readonly reap: jest.SpiedFunction<JobStore['reap']>;
  readonly calls = { reap: [] as number[], promote: [] as number[], prune: [] as number[] };

  /** Counts from now on what the schedulers do with the services, and what the services do with the store. */
  constructor(readonly app: TestApp) {
    for (const service of SERVICES) {
      const { task } = app.context.get<ReaperService>(service, { strict: false });
      const tick = task.tick.bind(task);
      jest.spyOn(task, 'tick').mockImplementation(() => {
        this.ticks.get(service)?.push(performance.now());
        return tick();
      });
    }
    const { store } = app.context.get(QueueRegistry, { strict: false }).defaultQueue;
    const [reap, promote, prune] = [
      store.reap.bind(store),
      store.promote.bind(store),
      store.prune.bind(store),
    ];
    this.reap = jest.spyOn(store, 'reap');
    this.replaceReap(reap);
    jest.spyOn(store, 'promote').mockImplementation((limit) => {
      this.calls.promote.push(performance.now());
      return promote(limit);
    });
    jest.spyOn(store, 'prune').mockImplementation((limit) => {
      this.calls.prune.push(performance.now());
      return prune(limit);
    });
  }

  replaceReap(reap: JobStore['reap']): void {
    this.reap.mockImplementation((leaseMs, limit) => {
      this.calls.reap.push(performance.now());
      return reap(leaseMs, limit);
    });
  }
}

function smallestGap(times: readonly number[] = []): number {
  return Math.min(...times.slice(1).map((time, i) => time - (times[i] ?? 0)));
}

/** All at once, since each has to be watched for seconds. */
describe('maintenance crons', () => {
  const apps: TestApp[] = [];
  async function start(options: TestAppOptions = {}): Promise<Watched> {
    const app = await startApp({
      store: 'memory',
      ...options,
      options: { queues: [QUICK_QUEUE], maintenance: MAINTENANCE, ...options.options },
    });
    apps.push(app);
    return new Watched(app);
  }

  let plain: Watched;
  let scheduled: Watched;
  let withoutCrons: Watched;
  let apiOnly: Watched;
  let scheduledApiOnly: Watched;
  let hanging: Watched;
  let failing: Watched;
  const reaperMayGoOn = new Gate();

  beforeAll(async () => {
    const providers = [AppCrons];
    const apiOptions = { worker: false };
    plain = await start({ providers });
    scheduled = await start({ providers, imports: [ScheduleModule.forRoot()] });
    withoutCrons = await start({ providers, imports: [ScheduleModule.forRoot({ cronJobs: false })] });
    apiOnly = await start({ options: apiOptions });
    scheduledApiOnly = await start({ options: apiOptions, providers, imports: [ScheduleModule.forRoot()] });
    hanging = await start();
    failing = await start();
    hanging.replaceReap(async () => {
      await reaperMayGoOn.passed();
      return { reaped: [], more: false };
    });
    failing.replaceReap(() => Promise.reject(new Error('not now')));
  });
  afterAll(async () => {
    await Promise.all(apps.map((app) => app.close()));
    jest.restoreAllMocks();
  });

  it.each([
    ['without a ScheduleModule', () => plain, false],
    ['with its own ScheduleModule', () => scheduled, true],
    ['with a ScheduleModule that does no crons', () => withoutCrons, false],
  ])('in an app %s, each runs once per interval', async (_what, watched, appHasCrons) => {
    const { app, ticks, calls } = watched();
    const own = app.context.get(AppCrons).ticks;
    await eventually(() => calls.reap.length >= 3 && calls.promote.length >= 3 && calls.prune.length >= 2);

    for (const service of SERVICES) expect(smallestGap(ticks.get(service))).toBeGreaterThan(LEAST_GAP_MS);
    expect(smallestGap(calls.reap)).toBeGreaterThan(LEAST_GAP_MS);
    expect(smallestGap(calls.promote)).toBeGreaterThan(LEAST_GAP_MS);
    expect(smallestGap(calls.prune)).toBeGreaterThan(MAINTENANCE.pruneIntervalMs - LEAST_GAP_MS);
    // The app's own cron runs if the app wants crons, and is not doubled either.
    expect(own.length > 0).toBe(appHasCrons);
    expect(smallestGap(own)).toBeGreaterThan(LEAST_GAP_MS);
  });

  it('with worker: false none runs, scheduler or not', async () => {
    const { ticks } = scheduledApiOnly.app.context.get(AppCrons);
    // Others have had their turns by now.
    await eventually(() => plain.calls.reap.length >= 2 && ticks.length >= 2);
    const none = { reap: [], promote: [], prune: [] };
    expect([apiOnly.calls, scheduledApiOnly.calls]).toEqual([none, none]);
  });

  it('never over itself: a store call that hangs is waited for, and the others go on', async () => {
    const { ticks, calls } = hanging;
    await eventually(() => (ticks.get(ReaperService)?.length ?? 0) >= 3 && calls.promote.length >= 3);
    expect(calls.reap).toHaveLength(1);
    reaperMayGoOn.open();
    await eventually(() => calls.reap.length >= 2);
  });

  it('a store call that fails is tried again, at the next turn and not before', async () => {
    await eventually(() => failing.calls.reap.length >= 3);
    expect(smallestGap(failing.calls.reap)).toBeGreaterThan(LEAST_GAP_MS);
  });
});
