/** The production store: one script per transition, all keys of the queue in one slot. */
import { EnqueueRefusedError, EnqueueUnknownError, InvalidOptionError } from '../../errors/errors.js';
import { INTERNAL } from '../../options/defaults.js';
import type {
  HeldLease,
  JobPage,
  JobRecord,
  JobStore,
  LaneCall,
  LaneReply,
  ListQuery,
  PromoteReply,
  QueueMark,
  QueueSnapshot,
  ReapReply,
  RenewReply,
  Stat,
  TransitionReply,
  WakeListener,
  WorkerInfo,
} from '../job-store.js';
import type { EnqueueRefusal, EnqueueReply, NewJob } from '../new-job.js';
import { RedisCallError } from './connection.js';
import { enqueueKeyed, enqueuePlain } from './enqueue-scripts.js';
import * as inspection from './inspection-scripts.js';
import { QueueKeys } from './keys.js';
import { RedisWakeListener } from './redis-wake-listener.js';
import { ScriptRunner } from './script-runner.js';
import type { StoreConnection } from './store-connection.js';
import * as worker from './worker-scripts.js';

export interface RedisJobStoreOptions {
  readonly prefix: string;
  readonly queue: string;
  readonly retention: worker.QueueRetention;
}

export class RedisJobStore implements JobStore {
  private readonly keys: QueueKeys;
  private readonly runner: ScriptRunner;
  private readonly retention: worker.QueueRetention;

  constructor(
    private readonly connection: StoreConnection,
    options: RedisJobStoreOptions,
  ) {
    this.keys = new QueueKeys(options.prefix, options.queue);
    this.runner = new ScriptRunner(connection, this.keys);
    this.retention = options.retention;
  }

  async enqueue(jobs: readonly NewJob[]): Promise<(EnqueueReply | EnqueueRefusal)[]> {
    const first = jobs[0];
    if (!first) return [];
    if (jobs.length > INTERNAL.enqueueChunkJobs) {
      throw new InvalidOptionError('jobs', jobs, `must be at most ${INTERNAL.enqueueChunkJobs} in one call`);
    }
    try {
      const anyKeys = jobs.some(({ keys }) => keys !== undefined);
      return await (anyKeys ? enqueueKeyed(this.runner, jobs) : enqueuePlain(this.runner, jobs));
    } catch (error) {
      if (error instanceof RedisCallError && error.mayHaveRun) {
        throw new EnqueueUnknownError(first.id, { cause: error });
      }
      const reason = error instanceof Error ? error.message : String(error);
      throw new EnqueueRefusedError(first.id, reason, { cause: error });
    }
  }

  async exchange(call: LaneCall): Promise<LaneReply> {
    // Two scripts in one write. Neither depends on the other's having run.
    const [settled, claimed] = await Promise.all([
      call.settlements.length > 0 ? worker.settle(this.runner, call, this.retention) : [],
      call.claimMax > 0 ? worker.claim(this.runner, call, this.retention) : worker.NOTHING_CLAIMED,
    ]);
    return { settled, ...claimed };
  }

  renew(info: WorkerInfo, leases: readonly HeldLease[], leaseMs: number): Promise<RenewReply> {
    return worker.renew(this.runner, info, leases, leaseMs);
  }

  async signOff(workerId: string): Promise<void> {
    await this.runner.run('sign-off', [workerId]);
  }

  reap(leaseMs: number, limit: number): Promise<ReapReply> {
    return worker.reap(this.runner, leaseMs, limit, this.retention);
  }

  promote(limit: number): Promise<PromoteReply> {
    return worker.promote(this.runner, limit);
  }

  prune(limit: number): Promise<number> {
    return worker.prune(this.runner, this.retention, limit);
  }

  cancel(jobId: string): Promise<TransitionReply> {
    return inspection.transition(this.runner, 'cancel', [jobId, this.retention.cancelled.count]);
  }

  remove(jobId: string): Promise<TransitionReply> {
    return inspection.transition(this.runner, 'remove', [jobId]);
  }

  redrive(jobId: string): Promise<TransitionReply> {
    return inspection.transition(this.runner, 'redrive', [jobId]);
  }

  async pause(): Promise<void> {
    await this.runner.run('pause', [1]);
  }

  async resume(): Promise<void> {
    await this.runner.run('pause', [0]);
  }

  read(jobIds: readonly string[]): Promise<(JobRecord | undefined)[]> {
    return inspection.read(this.runner, jobIds);
  }

  list(query: ListQuery): Promise<JobPage> {
    return inspection.list(this.runner, query);
  }

  snapshot(): Promise<QueueSnapshot> {
    return inspection.snapshot(this.runner);
  }

  mark(): Promise<QueueMark> {
    return inspection.mark(this.runner);
  }

  recent(stats: readonly Stat[], windowMs: number): Promise<Partial<Record<Stat, number>>> {
    return inspection.recent(this.runner, stats, windowMs);
  }

  async count(stat: 'runaways', amount: number): Promise<void> {
    await this.runner.run('count', [stat, amount]);
  }

  async readCheckpoint(jobId: string): Promise<string | undefined> {
    const key = this.keys.checkpoint(jobId);
    return (await this.connection.call(key, (client) => client.get(key))) ?? undefined;
  }

  async writeCheckpoint(jobId: string, token: number, value: string): Promise<boolean> {
    return (await this.runner.run('write-checkpoint', [jobId, token, value])) === 1;
  }

  listenForWork(): WakeListener {
    return new RedisWakeListener(
      () => this.connection.createBlockingClient(this.keys.wake),
      this.keys.wake,
      INTERNAL.blockGraceMs,
    );
  }

  async wake(): Promise<void> {
    await this.runner.run('wake', []);
  }
}
