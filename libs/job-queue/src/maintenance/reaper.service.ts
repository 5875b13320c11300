/** Gives jobs whose worker died back to the queue, and looks whether the queue is still the one it was. Safe to run in many processes at once. */
import { Inject, Injectable } from '@nestjs/common';
import { Cron } from '@nestjs/schedule';
import { JobEvents } from '../events/job-events.js';
import { INTERNAL } from '../options/defaults.js';
import { DataLossWatch } from '../queue/data-loss-watch.js';
import { type QueueEntry, QueueRegistry } from '../queue/queue-registry.js';
import { MAINTENANCE_INTERVALS, type MaintenanceIntervals } from './maintenance-intervals.js';
import { EVERY_SECOND, PeriodicTask } from './periodic-task.js';

const CRON_NAME = 'fenceline-reaper';

@Injectable()
export class ReaperService {
  readonly cronName = CRON_NAME;
  readonly task: PeriodicTask;

  constructor(
    private readonly queues: QueueRegistry,
    private readonly events: JobEvents,
    private readonly dataLoss: DataLossWatch,
    @Inject(MAINTENANCE_INTERVALS) intervals: MaintenanceIntervals,
  ) {
    this.task = new PeriodicTask('Reaper', intervals.reapIntervalMs, () => this.reapAll());
  }

  @Cron(EVERY_SECOND, { name: CRON_NAME })
  tick(): Promise<void> {
    return this.task.tick();
  }

  private async reapAll(): Promise<void> {
    for (const entry of this.queues.list()) await this.reap(entry);
  }

  private async reap({ options: { name: queue, leaseMs }, store }: QueueEntry): Promise<void> {
    for (let more = true; more;) {
      const reply = await store.reap(leaseMs, INTERNAL.maintenanceBatch);
      for (const { jobId, attempt, token, workerId, status } of reply.reaped) {
        this.events.emit('reaped', { queue, jobId, attempt, workerId, fencingToken: token, status });
      }
      more = reply.more;
    }
    this.dataLoss.observe(queue, await store.mark());
  }
}
