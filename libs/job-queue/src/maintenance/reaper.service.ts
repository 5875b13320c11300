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
  private rounds = 0;

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
    // Every other time is soon enough, and an idle worker shall send less than one command a second.
    this.rounds += 1;
    if (this.rounds % 2 === 0) return;
    for (const { options, store } of this.queues.list()) {
      this.dataLoss.observe(options.name, await store.mark());
    }
  }

  private async reap({ options: { name: queue, leaseMs }, store }: QueueEntry): Promise<void> {
    for (let more = true; more;) {
      const reply = await store.reap(leaseMs, INTERNAL.maintenanceBatch);
      for (const { jobId, attempt, token, workerId, status } of reply.reaped) {
        this.events.emit('reaped', { queue, jobId, attempt, workerId, fencingToken: token, status });
      }
      more = reply.more;
    }
  }
}
