/** The errors of jobs whose keys are taken by others. */
import { FencelineError } from './errors.js';

/** The dedup key is owned by another job and the enqueue asked to be refused then. Nothing was stored. */
export class DuplicateJobError extends FencelineError {
  readonly code = 'DUPLICATE_JOB';

  constructor(
    readonly dedupKey: string,
    /** The job that owns the key. */
    readonly ownerJobId: string,
  ) {
    super(`The dedup key "${dedupKey}" is owned by job "${ownerJobId}", which has not ended yet.`);
  }
}

/** `replace` and `rerun` would turn a job into one of another type. Nothing was changed. */
export class DedupTypeError extends FencelineError {
  readonly code = 'DEDUP_TYPE';

  constructor(
    readonly dedupKey: string,
    readonly jobType: string,
    readonly ownerJobId: string,
  ) {
    super(
      `The dedup key "${dedupKey}" is owned by job "${ownerJobId}" of another type than "${jobType}". ` +
        'Use a key per type, for example by putting the type in front.',
    );
  }
}

/** A dead job cannot be redriven: what it would do is in other hands now. */
export class KeyTakenError extends FencelineError {
  readonly code = 'KEY_TAKEN';

  constructor(
    readonly jobId: string,
    readonly kind: 'dedup' | 'idempotency',
    readonly holder: string | undefined,
  ) {
    super(
      kind === 'dedup'
        ? `Job "${jobId}" cannot be redriven: its dedup key is owned by the newer job "${holder ?? '?'}".`
        : `Job "${jobId}" cannot be redriven: its idempotency key stands for another payload now.`,
    );
  }
}

/** The keys of the job belong to different partitions of its queue. Nothing was stored. */
export class PartitionConflictError extends FencelineError {
  readonly code = 'PARTITION_CONFLICT';

  constructor(
    /** The partition that each of the options leads to. */
    readonly partitions: Readonly<Record<string, number>>,
  ) {
    const routes = Object.entries(partitions).map(([option, partition]) => `${option} to ${partition}`);
    super(
      `The keys of this job lead to different partitions (${routes.join(', ')}), where it would not meet the jobs ` +
        'it has them in common with. Name a partitionKey that all those jobs share, for example the resource key.',
    );
  }
}

/** The idempotency key stands for an operation with another payload. Nothing was stored, nothing ran. */
export class IdempotencyConflictError extends FencelineError {
  readonly code = 'IDEMPOTENCY_CONFLICT';

  constructor(readonly idempotencyKey: string) {
    super(
      `The idempotency key "${idempotencyKey}" was used with another payload. ` +
        'Use a new key for a new operation; repeat one only with the same payload.',
    );
  }
}
