/** All workers of this process, one per queue that has a handler. */
import type { JobEvents } from '../events/job-events.js';
import type { QueueRegistry } from '../queue/queue-registry.js';
import type { HandlerRegistry } from './handler-registry.js';
import { Worker } from './worker.js';

export class WorkerPool {
  private started: readonly Worker[] = [];

  constructor(
    private readonly queues: QueueRegistry,
    private readonly handlers: HandlerRegistry,
    private readonly events: JobEvents,
    private readonly shutdownTimeoutMs: number,
  ) {}

  /** The running workers. */
  workers(): readonly Worker[] {
    return this.started;
  }

  /** A queue without a single handler here gets no worker: it would only put other processes' jobs back. */
  start(): void {
    const served = new Set(this.handlers.list().map(({ queue }) => queue));
    this.started = this.queues
      .list()
      .filter(({ options }) => served.has(options.name))
      .map(({ options, store }) => {
        const findHandler = (type: string) => this.handlers.find(options.name, type);
        const { events, shutdownTimeoutMs } = this;
        return new Worker({ queue: options, store, events, findHandler, shutdownTimeoutMs });
      });
    for (const worker of this.started) worker.start();
  }

  /** Resolves when all have drained, within the shutdown timeout. */
  async stop(): Promise<void> {
    await Promise.all(this.started.map((worker) => worker.stop()));
    this.started = [];
  }
}
