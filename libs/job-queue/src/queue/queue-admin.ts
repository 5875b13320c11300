/** Moves jobs by hand: cancel, remove, redrive, pause. Every refusal is a typed error and changes nothing. */
import { IllegalTransitionError, JobNotFoundError } from '../errors/errors.js';
import { KeyTakenError } from '../errors/key-errors.js';
import type { JobEvents } from '../events/job-events.js';
import { TRANSITIONS, type Job } from '../job/job.js';
import { INTERNAL } from '../options/defaults.js';
import type { JobRecord, TransitionReply } from '../store/job-store.js';
import { viewJob } from './job-view.js';
import type { QueueEntry, QueueRegistry } from './queue-registry.js';

export interface RedriveFilter {
  /** Only jobs of this type. */
  readonly type?: string;
  /** Only jobs whose last error's name or message contains this. */
  readonly errorText?: string;
  /** Hears after each batch how many were looked at and redriven so far. */
  readonly onProgress?: (progress: { readonly examined: number; readonly redriven: number }) => void;
}

export class QueueAdmin {
  private readonly entry: QueueEntry;

  constructor(
    private readonly registry: QueueRegistry,
    private readonly events: JobEvents,
    queue = registry.defaultQueue.options.name,
  ) {
    this.entry = registry.get(queue);
  }

  /**
   * The same for another queue.
   * @throws UnknownQueueError
   */
  queue(name: string): QueueAdmin {
    return new QueueAdmin(this.registry, this.events, name);
  }

  /**
   * Cancels a job that is not running (`cancelled`), or asks the worker of a running one to abort it
   * (`requested`): its signal fires within one heartbeat.
   * @throws JobNotFoundError, IllegalTransitionError
   */
  async cancel(jobId: string): Promise<'cancelled' | 'requested'> {
    const reply = this.check('cancel', jobId, await this.entry.store.cancel(jobId));
    const requested = reply.kind === 'requested';
    this.events.emit(requested ? 'cancel_requested' : 'cancelled', this.ref(jobId));
    return requested ? 'requested' : 'cancelled';
  }

  /**
   * Deletes a job that is not running, with its result and error.
   * @throws JobNotFoundError, IllegalTransitionError
   */
  async remove(jobId: string): Promise<void> {
    this.check('remove', jobId, await this.entry.store.remove(jobId));
    this.events.emit('removed', this.ref(jobId));
  }

  /**
   * Puts a dead job back with all its attempts; its history stays.
   * @throws JobNotFoundError, IllegalTransitionError, KeyTakenError
   */
  async redrive(jobId: string): Promise<void> {
    this.check('redrive', jobId, await this.entry.store.redrive(jobId));
    this.events.emit('redriven', this.ref(jobId));
  }

  /**
   * Redrives the jobs that are dead now and match, in batches, oldest first. Jobs that die meanwhile are
   * left alone, so it ends even if they all fail again at once. Answers how many it redrove.
   */
  async redriveAll({ type, errorText, onProgress }: RedriveFilter = {}): Promise<number> {
    const { store } = this.entry;
    const bound = await this.newestDeath();
    if (bound === undefined) return 0;
    const matches = (job: Job): boolean =>
      (type === undefined || job.type === type) &&
      (errorText === undefined || `${job.lastError?.name}: ${job.lastError?.message}`.includes(errorText));
    let examined = 0;
    let redriven = 0;
    let cursor: string | undefined;
    do {
      const page = await store.list({
        status: 'dead',
        limit: INTERNAL.maintenanceBatch,
        order: 'oldest',
        ...(cursor === undefined ? {} : { cursor }),
      });
      const records = (await store.read(page.ids)).filter((record) => record !== undefined);
      const chosen = records.filter(
        (record) =>
          record.status === 'dead' &&
          diedAt(record) <= bound &&
          matches(viewJob(record, this.entry, this.registry)),
      );
      examined += records.length;
      redriven += (await Promise.all(chosen.map(({ id }) => this.tryRedrive(id)))).filter(Boolean).length;
      onProgress?.({ examined, redriven });
      // Beyond the bound there are only jobs that died after the start.
      const isPast = records.some((record) => record.status === 'dead' && diedAt(record) > bound);
      cursor = isPast ? undefined : page.nextCursor;
    } while (cursor !== undefined);
    return redriven;
  }

  /** Stops all workers of the queue from claiming. Running jobs go on; enqueueing does too. */
  async pause(): Promise<void> {
    await this.entry.store.pause();
    this.events.emit('paused', { queue: this.entry.options.name });
  }

  async resume(): Promise<void> {
    await this.entry.store.resume();
    this.events.emit('resumed', { queue: this.entry.options.name });
  }

  /** When the last job died that is dead now; `undefined` when none is. */
  private async newestDeath(): Promise<number | undefined> {
    const { store } = this.entry;
    for (;;) {
      const { ids } = await store.list({ status: 'dead', limit: 1, order: 'newest' });
      if (ids.length === 0) return undefined;
      const [record] = await store.read(ids);
      // Else someone redrove or removed it between the two calls; then another one is the newest.
      if (record?.status === 'dead') return diedAt(record);
    }
  }

  /** `false` when the job is no longer dead: someone else was faster. */
  private async tryRedrive(jobId: string): Promise<boolean> {
    const reply = await this.entry.store.redrive(jobId);
    if (reply.kind === 'moved') this.events.emit('redriven', this.ref(jobId));
    return reply.kind === 'moved';
  }

  private ref(jobId: string): { queue: string; jobId: string } {
    return { queue: this.entry.options.name, jobId };
  }

  private check(
    operation: 'cancel' | 'remove' | 'redrive',
    jobId: string,
    reply: TransitionReply,
  ): Extract<TransitionReply, { kind: 'moved' | 'requested' }> {
    if (reply.kind === 'key_taken') throw new KeyTakenError(jobId, reply.key, reply.holder);
    if (reply.kind === 'not_found') throw new JobNotFoundError(jobId);
    if (reply.kind === 'illegal') {
      throw new IllegalTransitionError(jobId, operation, reply.status, TRANSITIONS[operation]);
    }
    return reply;
  }
}

function diedAt({ updatedAt = 0 }: JobRecord): number {
  return updatedAt;
}
