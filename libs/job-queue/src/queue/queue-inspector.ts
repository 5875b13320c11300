/** The read side of the queues: what is there, and how is it doing. Changes nothing. */
import { InvalidOptionError, JobNotFoundError } from '../errors/errors.js';
import { JOB_STATUSES, type Job, type JobStatus } from '../job/job.js';
import type { QueueSnapshot } from '../store/job-store.js';
import { viewJob } from './job-view.js';
import type { QueueEntry, QueueRegistry } from './queue-registry.js';

const DEFAULT_PAGE = 20;
const MAX_PAGE = 1_000;

export interface ListOptions {
  readonly status: JobStatus;
  /** 1–1000, default 20. */
  readonly limit?: number;
  /** The previous page's `nextCursor`. */
  readonly cursor?: string;
  /**
   * By when jobs ended, are due, or run out of lease. Default: newest first for ended jobs, else what
   * happens next first. Queued jobs always come in the order in which they will run.
   */
  readonly order?: 'oldest' | 'newest';
}

export interface JobList {
  readonly jobs: readonly Job[];
  readonly nextCursor: string | undefined;
}

export class QueueInspector {
  private readonly entry: QueueEntry;

  constructor(
    private readonly registry: QueueRegistry,
    queue = registry.defaultQueue.options.name,
  ) {
    this.entry = registry.get(queue);
  }

  /**
   * The inspector of another queue.
   * @throws UnknownQueueError
   */
  queue(name: string): QueueInspector {
    return new QueueInspector(this.registry, name);
  }

  /** @throws JobNotFoundError */
  async get(jobId: string): Promise<Job> {
    const [record] = await this.entry.store.read([jobId]);
    if (!record) throw new JobNotFoundError(jobId);
    return viewJob(record, this.entry, this.registry);
  }

  /**
   * One page of the jobs in a status. Jobs that change status meanwhile may be missing; none that stays is
   * skipped, except among queued jobs: these are counted from the head, so claims between two pages shift them.
   * @throws InvalidOptionError
   */
  async list({ status, limit = DEFAULT_PAGE, cursor, order }: ListOptions): Promise<JobList> {
    if (!JOB_STATUSES.includes(status)) {
      throw new InvalidOptionError('status', status, `must be one of ${JOB_STATUSES.join(', ')}`);
    }
    if (!Number.isInteger(limit) || limit < 1 || limit > MAX_PAGE) {
      throw new InvalidOptionError('limit', limit, `must be a whole number from 1 to ${MAX_PAGE}`);
    }
    const ended = status === 'done' || status === 'dead' || status === 'cancelled';
    const page = await this.entry.store.list({
      status,
      limit,
      order: order ?? (ended ? 'newest' : 'oldest'),
      ...(cursor === undefined ? {} : { cursor }),
    });
    const records = await this.entry.store.read(page.ids);
    const jobs = records
      .filter((record) => record?.status === status)
      .map((record) => record && viewJob(record, this.entry, this.registry))
      .filter((job) => job !== undefined);
    return { jobs, nextCursor: page.nextCursor };
  }

  /** Counts of every status, the age of the oldest ready job, and the lifetime counters. */
  snapshot(): Promise<QueueSnapshot> {
    return this.entry.store.snapshot();
  }
}
