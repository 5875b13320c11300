/** Makes due retries and delayed jobs ready when no worker is claiming; workers that claim promote on their own. */
import { Inject, Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { JobEvents } from '../events/job-events.js';
import { INTERNAL } from '../options/defaults.js';
import { type QueueEntry, QueueRegistry } from '../queue/queue-registry.js';
import { MAINTENANCE_INTERVALS, type MaintenanceIntervals } from './maintenance-intervals.js';
import { EVERY_SECOND, PeriodicTask } from './periodic-task.js';

const CRON_NAME = 'fenceline-retry-promoter';

@Injectable()
export class RetryPromoterService {
  readonly cronName = CRON_NAME;
  readonly task: PeriodicTask;

  constructor(
    private readonly queues: QueueRegistry,
    private readonly events: JobEvents,
    @Inject(MAINTENANCE_INTERVALS) intervals: MaintenanceIntervals,
  ) {
    this.task = new PeriodicTask('Retry promoter', intervals.promoteIntervalMs, () => this.promoteAll());
  }

  @Cron(EVERY_SECOND, { name: CRON_NAME })
  tick(): Promise<void> {
    return this.task.tick();
  }

  private async promoteAll(): Promise<void> {
    for (const entry of this.queues.list()) await this.promote(entry);
  }

  private async promote({ options: { name: queue }, store }: QueueEntry): Promise<void> {
    for (let more = true; more;) {
      const reply = await store.promote(INTERNAL.maintenanceBatch);
      if (reply.promoted > 0) this.events.emit('promoted', { queue, jobs: reply.promoted });
      more = reply.more;
    }
  }
}
