/** What goes into a queue and what the store says to it: the job, the keys it brings, the answers. */
import type { JobStatus } from '../job/job.js';

/** A job to store. */
export interface NewJob {
  readonly id: string;
  /**
   * `true` when the caller chose the id, so that it may have existed before. Leftovers of a removed job
   * with that id (result, error, checkpoint) are then cleared.
   */
  readonly callerChosenId: boolean;
  /**
   * JSON text of an object whose last member is `payload`: the job's spec. The store puts `created_at` in
   * front. Dedup's `replace` exchanges the text from `"payload":` on and leaves the rest as it was.
   */
  readonly spec: string;
  /** 0 (first) to 9 (last). */
  readonly priority: number;
  /** 0 for at once. */
  readonly delayMs: number;
  readonly keys?: JobKeys | undefined;
  /** Where it goes in a partitioned queue. `undefined`: where its keys or its id lead. */
  readonly partition?: number | undefined;
}

/** The keys that keep a job from running beside, or after, another one. */
export interface JobKeys {
  /**
   * Two jobs with the same one never run at once. A claim takes a job's resource and idempotency key
   * together or neither; a job that meets a busy key waits as `blocked`, first come first served.
   */
  readonly resource?: string | undefined;
  readonly idempotency?: IdempotencyRequest | undefined;
  readonly dedup?: DedupRequest | undefined;
}

/**
 * Once a job with this key is done, the others with it end `done` with its result instead of running.
 * While one runs they wait like for a resource. A holder that fails, or loses its lease, lets the next one try.
 */
export interface IdempotencyRequest {
  readonly key: string;
  /** What the operation is about; the same key with another one is refused at enqueue. */
  readonly fingerprint: string;
  /** How long the result is kept after the operation was done. */
  readonly ttlMs: number;
}

/** Stops the enqueue of a job while another one owns the key. */
export interface DedupRequest {
  readonly key: string;
  /** Job type. `replace` and `rerun` never turn a job into one of another type. */
  readonly type: string;
  /** Owned for this time whatever becomes of the job. `undefined`: owned until the job has ended. */
  readonly windowMs?: number | undefined;
  /**
   * `return`: the owner is the answer. `reject`: refused. `replace`: the owner gets this payload and delay, unless
   * it is processing. `rerun`: as `replace`; if the owner is processing, one follow-up is kept, which waits
   * for it as `blocked` and whose payload is always the newest.
   */
  readonly onDuplicate: 'return' | 'reject' | 'replace' | 'rerun';
  /** A dead owner keeps the key until it is redriven and ends otherwise, or is removed or pruned. */
  readonly keepWhenDead: boolean;
}

/**
 * `duplicate`: a job with that id, or the owner of its dedup key, was there already; `jobId` and `status`
 * are that job's. `replaced`: that job has the new payload now. For a follow-up of `rerun` `jobId` is the
 * follow-up's, and `duplicate` says whether there was one already.
 */
export interface EnqueueReply {
  readonly jobId: string;
  readonly status: JobStatus;
  readonly duplicate: boolean;
  readonly replaced?: true;
}

/** Not stored. `holder` is the job that is in the way, if one can be named. */
export interface EnqueueRefusal {
  readonly jobId: string;
  readonly refused: 'duplicate' | 'dedup_type' | 'idempotency_conflict';
  readonly holder: string | undefined;
}
