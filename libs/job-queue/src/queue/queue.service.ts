/** The write side of the queues: checks a job, turns it into a spec and stores it. */
import type { JobEvents } from '../events/job-events.js';
import type { JobDefinition } from '../job/job-definition.js';
import { newJobId } from '../job/job-id.js';
import { newPartitionedJobId } from '../job/partition.js';
import { checkName } from '../job/names.js';
import { serializePayload, validatePayload } from '../job/payload-validation.js';
import { writeSpec } from '../job/spec.js';
import { DEFAULTS } from '../options/defaults.js';
import { checkEnqueueOptions } from '../options/enqueue-options.js';
import type { EnqueueOptions } from '../options/options.js';
import type { EnqueueReply, NewJob } from '../store/new-job.js';
import { EnqueueBatcher, type EnqueueResult } from './enqueue-batcher.js';
import { toJobKeys } from './job-keys.js';
import { PartitionRouter } from './partition-router.js';
import type { QueueEntry, QueueRegistry } from './queue-registry.js';

/** One job of an `enqueueMany`. */
export interface JobToEnqueue<P extends object = object> {
  readonly job: JobDefinition<P> | string;
  readonly payload: P;
  readonly options?: EnqueueOptions;
}

/** Enqueues into one queue. */
export class Queue {
  private readonly batcher: EnqueueBatcher;
  private readonly router: PartitionRouter | undefined;

  constructor(
    private readonly entry: QueueEntry,
    private readonly registry: QueueRegistry,
    private readonly events: JobEvents,
  ) {
    this.batcher = new EnqueueBatcher(entry.store);
    const { partitions } = entry.options;
    this.router = partitions > 1 ? new PartitionRouter(partitions) : undefined;
  }

  get name(): string {
    return this.entry.options.name;
  }

  /**
   * Stores a job. When this resolves, the job is accepted and will end in `done`, `dead` or `cancelled`.
   * @param job a definition, or the plain type; its payload class, where known, validates the payload
   * @throws InvalidOptionError, PayloadValidationError, PayloadTooLargeError: nothing was stored
   * @throws PartitionConflictError its keys lead to different partitions of the queue; nothing was stored
   * @throws DuplicateJobError, DedupTypeError, IdempotencyConflictError another job has the key; nothing was stored
   * @throws EnqueueRefusedError the store did not take it; certainly nothing was stored
   * @throws EnqueueUnknownError no reply came; repeat with its `jobId` to be sure
   */
  async enqueue<P extends object = object>(
    job: JobDefinition<P> | string,
    payload: NoInfer<P>,
    options?: EnqueueOptions,
  ): Promise<EnqueueReply> {
    const type = typeof job === 'string' ? job : job.type;
    const prepared = this.prepare(job, type, payload, options);
    const reply = await this.batcher.add(prepared instanceof Promise ? await prepared : prepared);
    this.announce(type, reply);
    return reply;
  }

  /**
   * Stores many jobs in chunks of at most 250 jobs and 1 MB. Each chunk is stored whole or not at all;
   * the answers say per job what happened, in the order given.
   * @throws InvalidOptionError, PartitionConflictError, PayloadValidationError, PayloadTooLargeError naming `jobs[i]`: nothing was stored
   */
  async enqueueMany(jobs: readonly JobToEnqueue[]): Promise<EnqueueResult[]> {
    const prepared: NewJob[] = [];
    for (const [i, { job, payload, options }] of jobs.entries()) {
      try {
        const type = typeof job === 'string' ? job : job.type;
        const next = this.prepare(job, type, payload, options);
        prepared.push(next instanceof Promise ? await next : next);
      } catch (error) {
        if (error instanceof Error) error.message = `jobs[${i}]: ${error.message}`;
        throw error;
      }
    }
    const results = await this.batcher.addMany(prepared);
    results.forEach((result, i) => {
      const job = jobs[i]?.job;
      if (result.ok && job !== undefined) this.announce(typeof job === 'string' ? job : job.type, result);
    });
    return results;
  }

  /** Synchronous where no payload class asks for validation: that is the hot path. */
  private prepare(
    job: JobDefinition | string,
    type: string,
    payload: unknown,
    options: EnqueueOptions | undefined,
  ): NewJob | Promise<NewJob> {
    checkName('type', type);
    checkEnqueueOptions(options);
    const json = serializePayload(type, payload, this.entry.options.payloadLimitBytes);
    const partition = this.router?.route(options);
    const newJob: NewJob = {
      id: options?.jobId ?? (partition === undefined ? newJobId() : newPartitionedJobId(partition)),
      callerChosenId: options?.jobId !== undefined,
      spec: writeSpec(type, json, options),
      priority: options?.priority ?? DEFAULTS.enqueue.priority,
      delayMs: options?.delayMs ?? options?.dedup?.debounceMs ?? DEFAULTS.enqueue.delayMs,
      keys: toJobKeys(type, json, options),
      ...(partition === undefined ? {} : { partition }),
    };
    const payloadClass =
      typeof job === 'string' ? this.registry.typeInfo(this.name, type)?.payload : job.payload;
    if (payloadClass === undefined) return newJob;
    // What is checked is what the handler will get: the payload after its way through JSON.
    return validatePayload(type, payloadClass, JSON.parse(json)).then(() => newJob);
  }

  private announce(jobType: string, { jobId, status, duplicate }: EnqueueReply): void {
    if (this.events.has('enqueued')) {
      this.events.emit('enqueued', { queue: this.name, jobId, jobType, status, duplicate });
    }
  }
}

/** What apps inject: the default queue, and the way to the others. */
export class QueueService extends Queue {
  private readonly queues = new Map<string, Queue>();

  constructor(
    private readonly allQueues: QueueRegistry,
    events: JobEvents,
  ) {
    super(allQueues.defaultQueue, allQueues, events);
    for (const entry of allQueues.list()) {
      const isDefault = entry === allQueues.defaultQueue;
      this.queues.set(entry.options.name, isDefault ? this : new Queue(entry, allQueues, events));
    }
  }

  /** @throws UnknownQueueError when no queue of that name is configured. */
  queue(name: string): Queue {
    return this.queues.get(this.allQueues.get(name).options.name) ?? this;
  }
}
