/** What a handler gets beside its payload. */
import { CheckpointUnreadableError, StaleTokenError } from '../errors/errors.js';
import type { FencingToken } from '../job/job.js';
import type { ResolvedQueueOptions } from '../options/resolve-options.js';
import type { JobStore } from '../store/job-store.js';
import type { Attempt } from './attempt.js';
import { checkpointText } from './json-text.js';

export interface Checkpoint {
  /**
   * What an earlier attempt (or this one) stored, `undefined` at first.
   * @throws CheckpointUnreadableError when it is not JSON.
   */
  get<T = unknown>(): Promise<T | undefined>;
  /**
   * Stores how far the job has come. Survives retries, crashes, reaping and redrive.
   * @throws CheckpointUnstorableError when the value is not JSON or too large; nothing is written then.
   * @throws StaleTokenError when this attempt's lease was lost; nothing is written then.
   * @throws StoreUnavailableError when the store cannot be reached or is full.
   */
  set(value: unknown): Promise<void>;
}

export class JobContext {
  readonly checkpoint: Checkpoint;

  constructor(
    private readonly attemptState: Attempt,
    private readonly queueOptions: ResolvedQueueOptions,
    readonly workerId: string,
    /** ms since the epoch, by the store's clock. */
    readonly createdAt: number,
    /** After this many attempts a failing job is buried. */
    readonly maxAttempts: number,
    store: JobStore,
    private readonly noticeExpiry: (attempt: Attempt) => void,
  ) {
    this.checkpoint = new StoredCheckpoint(attemptState, store, queueOptions.resultLimitBytes);
  }

  get queue(): string {
    return this.queueOptions.name;
  }

  get id(): string {
    return this.attemptState.jobId;
  }

  get type(): string {
    return this.attemptState.jobType ?? '';
  }

  /** 1 for the first run. */
  get attempt(): number {
    return this.attemptState.number;
  }

  /** Grows with every claim in the queue. Pass it to whatever you write to, and refuse writes with a lower one there. */
  get fencingToken(): FencingToken {
    return this.attemptState.token;
  }

  get resourceKey(): string | undefined {
    return this.attemptState.resourceKey;
  }

  /** Names the operation to other systems too, for example as their idempotency key. */
  get idempotencyKey(): string | undefined {
    return this.attemptState.idempotencyKey;
  }

  /**
   * Aborts when the lease is lost, the time is up, the job is cancelled, or the worker shuts down; the reason says
   * which. Read it from here again before a step that matters: after a pause of the whole process the timer that fires
   * it may come later than yours.
   */
  get signal(): AbortSignal {
    this.noticeExpiry(this.attemptState);
    return this.attemptState.signal;
  }
}

class StoredCheckpoint implements Checkpoint {
  constructor(
    private readonly attempt: Attempt,
    private readonly store: JobStore,
    private readonly limitBytes: number,
  ) {}

  async get<T>(): Promise<T | undefined> {
    const text = await this.store.readCheckpoint(this.attempt.jobId);
    if (text === undefined) return undefined;
    try {
      return JSON.parse(text) as T;
    } catch {
      // What JSON.parse says quotes the text.
      throw new CheckpointUnreadableError(this.attempt.jobId);
    }
  }

  async set(value: unknown): Promise<void> {
    const { jobId, token } = this.attempt;
    const accepted = await this.store.writeCheckpoint(
      jobId,
      token,
      checkpointText(jobId, value, this.limitBytes),
    );
    if (!accepted) throw new StaleTokenError(jobId, token);
  }
}
