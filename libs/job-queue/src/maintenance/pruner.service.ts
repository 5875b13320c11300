/** Deletes ended jobs that are older, or more, than the queue's retention allows. */
import { Inject, Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { JobEvents } from '../events/job-events.js';
import { INTERNAL } from '../options/defaults.js';
import { type QueueEntry, QueueRegistry } from '../queue/queue-registry.js';
import { MAINTENANCE_INTERVALS, type MaintenanceIntervals } from './maintenance-intervals.js';
import { EVERY_SECOND, PeriodicTask } from './periodic-task.js';

const CRON_NAME = 'fenceline-pruner';

@Injectable()
export class PrunerService {
  readonly cronName = CRON_NAME;
  readonly task: PeriodicTask;

  constructor(
    private readonly queues: QueueRegistry,
    private readonly events: JobEvents,
    @Inject(MAINTENANCE_INTERVALS) intervals: MaintenanceIntervals,
  ) {
    this.task = new PeriodicTask('Pruner', intervals.pruneIntervalMs, () => this.pruneAll());
  }

  @Cron(EVERY_SECOND, { name: CRON_NAME })
  tick(): Promise<void> {
    return this.task.tick();
  }

  private async pruneAll(): Promise<void> {
    for (const entry of this.queues.list()) await this.prune(entry);
  }

  private async prune({ options: { name: queue }, store }: QueueEntry): Promise<void> {
    let jobs = 0;
    let deleted: number;
    do {
      deleted = await store.prune(INTERNAL.maintenanceBatch);
      jobs += deleted;
    } while (deleted === INTERNAL.maintenanceBatch);
    if (jobs > 0) this.events.emit('pruned', { queue, jobs });
  }
}
