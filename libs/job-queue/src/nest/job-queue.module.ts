/** Wires the library into a Nest app, and nothing else. */
import { Inject, Logger, Module, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { HealthIndicatorService } from '@nestjs/terminus';
import { JobEvents } from '../events/job-events.js';
import { QueueSource, WorkerSource } from '../health/health-sources.js';
import { LeaseHealthIndicator } from '../health/lease.health.js';
import { QueueHealthIndicator } from '../health/queue.health.js';
import { WorkerHealthIndicator } from '../health/worker.health.js';
import { LockService } from '../lock/lock.service.js';
import { MAINTENANCE_INTERVALS } from '../maintenance/maintenance-intervals.js';
import { PrunerService } from '../maintenance/pruner.service.js';
import { ReaperService } from '../maintenance/reaper.service.js';
import { RetryPromoterService } from '../maintenance/retry-promoter.service.js';
import { JobEventLogger } from '../observability/job-event-logger.js';
import type { JobQueueModuleOptions } from '../options/options.js';
import { resolveOptions, type ResolvedOptions } from '../options/resolve-options.js';
import { DataLossWatch } from '../queue/data-loss-watch.js';
import { QueueAdmin } from '../queue/queue-admin.js';
import { QueueInspector } from '../queue/queue-inspector.js';
import { QueueRegistry } from '../queue/queue-registry.js';
import { QueueService } from '../queue/queue.service.js';
import { HandlerRegistry } from '../worker/handler-registry.js';
import { WorkerPool } from '../worker/worker-pool.js';
import { HandlerExplorer } from './handler.explorer.js';
import { IDEMPOTENCY_EXPORTS, IDEMPOTENCY_PROVIDERS } from './idempotency.providers.js';
import { openBackend, type StoreBackend } from './store-backend.js';
import { ConfigurableModuleClass, MODULE_OPTIONS_TOKEN, RESOLVED_OPTIONS, STORE_BACKEND } from './tokens.js';
import { WorkerModule } from './worker.lifecycle.js';
import { WorkerRuntime } from './worker.runtime.js';

const LOG_CONTEXT = 'Fenceline';
const PUBLIC = [
  QueueService,
  QueueInspector,
  QueueAdmin,
  LockService,
  JobEvents,
  QueueHealthIndicator,
  LeaseHealthIndicator,
  WorkerHealthIndicator,
];

@Module({
  imports: [DiscoveryModule, WorkerModule],
  providers: [
    {
      provide: RESOLVED_OPTIONS,
      inject: [MODULE_OPTIONS_TOKEN],
      useFactory: (options: JobQueueModuleOptions) => resolveOptions(options),
    },
    {
      provide: JobEvents,
      useFactory: () => {
        const logger = new Logger(LOG_CONTEXT);
        return new JobEvents((event, error) =>
          logger.error(
            `A listener of "${event}" failed`,
            error instanceof Error ? error.stack : String(error),
          ),
        );
      },
    },
    {
      provide: STORE_BACKEND,
      inject: [RESOLVED_OPTIONS],
      useFactory: (options: ResolvedOptions) => openBackend(options, new Logger(LOG_CONTEXT)),
    },
    {
      provide: QueueRegistry,
      inject: [RESOLVED_OPTIONS, STORE_BACKEND],
      useFactory: ({ queues: [first, ...others] }: ResolvedOptions, backend: StoreBackend) => {
        const entryOf = (options: typeof first) => ({ options, store: backend.createStore(options) });
        return new QueueRegistry([entryOf(first), ...others.map(entryOf)]);
      },
    },
    {
      provide: QueueService,
      inject: [QueueRegistry, JobEvents],
      useFactory: (queues: QueueRegistry, events: JobEvents) => new QueueService(queues, events),
    },
    {
      provide: QueueInspector,
      inject: [QueueRegistry],
      useFactory: (queues: QueueRegistry) => new QueueInspector(queues),
    },
    {
      provide: QueueAdmin,
      inject: [QueueRegistry, JobEvents],
      useFactory: (queues: QueueRegistry, events: JobEvents) => new QueueAdmin(queues, events),
    },
    {
      provide: LockService,
      inject: [STORE_BACKEND],
      useFactory: (backend: StoreBackend) => new LockService(backend.createLockStore()),
    },
    {
      provide: WorkerPool,
      inject: [QueueRegistry, HandlerRegistry, JobEvents, RESOLVED_OPTIONS],
      useFactory: (
        queues: QueueRegistry,
        handlers: HandlerRegistry,
        events: JobEvents,
        { shutdownTimeoutMs }: ResolvedOptions,
      ) => new WorkerPool(queues, handlers, events, shutdownTimeoutMs),
    },
    {
      provide: MAINTENANCE_INTERVALS,
      inject: [RESOLVED_OPTIONS],
      useFactory: ({ maintenance }: ResolvedOptions) => maintenance,
    },
    {
      provide: DataLossWatch,
      inject: [JobEvents],
      useFactory: (events: JobEvents) => new DataLossWatch(events),
    },
    {
      provide: QueueSource,
      inject: [QueueRegistry, DataLossWatch],
      useFactory: (queues: QueueRegistry, dataLoss: DataLossWatch): QueueSource => ({
        queueNames: () => queues.list().map(({ options }) => options.name),
        store: (name) => (name === undefined ? queues.defaultQueue : queues.get(name)).store,
        dataLossOf: (name, mark) => {
          dataLoss.observe(name, mark);
          return dataLoss.lossOf(name);
        },
      }),
    },
    { provide: WorkerSource, useExisting: WorkerPool },
    HandlerRegistry,
    HandlerExplorer,
    ReaperService,
    RetryPromoterService,
    PrunerService,
    WorkerRuntime,
    HealthIndicatorService,
    QueueHealthIndicator,
    LeaseHealthIndicator,
    WorkerHealthIndicator,
    ...IDEMPOTENCY_PROVIDERS,
  ],
  exports: [...PUBLIC, ...IDEMPOTENCY_EXPORTS],
})
export class JobQueueModule extends ConfigurableModuleClass implements OnModuleInit, OnApplicationShutdown {
  constructor(
    private readonly explorer: HandlerExplorer,
    private readonly events: JobEvents,
    private readonly locks: LockService,
    @Inject(RESOLVED_OPTIONS) private readonly options: ResolvedOptions,
    @Inject(STORE_BACKEND) private readonly backend: StoreBackend,
  ) {
    super();
  }

  async onModuleInit(): Promise<void> {
    const { logging } = this.options;
    // Not earlier: an app may set its logger between creating itself and starting.
    if (logging) new JobEventLogger(new Logger(LOG_CONTEXT), logging).subscribe(this.events);
    try {
      this.explorer.explore();
    } catch (error) {
      // An app that does not come up gets no shutdown hook, and an open connection would keep its process alive.
      await this.onApplicationShutdown();
      throw error;
    }
  }

  /** The last hook of all: until here the app's own hooks may still enqueue and lock. */
  async onApplicationShutdown(): Promise<void> {
    await this.locks.close();
    await this.backend.close();
  }
}
