/** The options users write. Defaults live in defaults.ts, checks in resolve-options.ts. */
import type { Cluster, Redis, RedisOptions } from 'ioredis';
import type { Backoff } from '../job/backoff.js';
import type { EndedStatus } from '../job/job.js';

/**
 * Where the jobs live.
 * `{ url }`: a Redis (or Valkey) of version 7.0 or newer, `redis://` or `rediss://`.
 * `{ redis }`: ioredis options, for Sentinel, TLS, ACL users.
 * `{ cluster }`: some nodes of a Redis Cluster, from which the others are found; `redis` is how to connect to each.
 * `{ client }`: an ioredis client of yours, `Redis` or `Cluster`; it is duplicated, never used itself and never closed.
 * `'memory'`: in this process; nothing survives a restart. Also what you get when you leave it out.
 */
export type ConnectionOptions =
  | { readonly url: string | undefined }
  | { readonly redis: RedisOptions }
  | { readonly cluster: readonly ClusterAddress[]; readonly redis?: RedisOptions }
  | { readonly client: Redis | Cluster }
  | 'memory';

/** A node of a cluster: a `redis://` URL, or host and port. */
export type ClusterAddress = string | { readonly host: string; readonly port?: number };

/** How long ended jobs are kept. A job goes when either limit is passed. `count: 0` deletes at once. */
export interface Retention {
  /** At most this many jobs. */
  readonly count: number;
  /** ms since the job ended. */
  readonly ageMs: number;
}

export interface QueueOptions {
  /** 1–128 characters, without `:` and braces. It is part of every Redis key of the queue. */
  readonly name: string;
  /** How many jobs one worker process runs at once. */
  readonly concurrency?: number;
  /**
   * Over how many parts the queue is spread, so that several nodes of a Redis Cluster share its work. Order holds within
   * a part only. Danger: it can be changed only while the queue is empty. See docs/high-availability.md.
   */
  readonly partitions?: number;
  /**
   * How long a worker may stay silent before its jobs are given to another, ms. Renewed every third of it.
   * Danger: shorter than the longest pause of your process (event loop, GC, laptop lid) makes jobs run
   * twice; longer delays the recovery after a crash. See the README, "Choosing leaseMs".
   */
  readonly leaseMs?: number;
  /** Attempts after which a failing job is buried, unless the handler or the enqueue says otherwise. */
  readonly maxAttempts?: number;
  /** Delay before each retry. */
  readonly backoff?: Partial<Backoff>;
  /** An attempt's signal aborts after this many ms. 0: never. */
  readonly timeoutMs?: number;
  /** How long an aborted handler may take to return before its attempt is settled without it, ms. */
  readonly abortGraceMs?: number;
  /** Largest payload, bytes of JSON. */
  readonly payloadLimitBytes?: number;
  /** Largest result, bytes of JSON. */
  readonly resultLimitBytes?: number;
  /** How long ended jobs are kept, by status. */
  readonly retention?: Partial<Record<EndedStatus, Partial<Retention>>>;
}

export interface MaintenanceOptions {
  /** How often expired leases are given back, ms. A dead worker's jobs run elsewhere after at most `leaseMs` + this. */
  readonly reapIntervalMs?: number;
  /** How often due jobs are promoted when no worker is claiming, ms. Workers promote on their own as they claim. */
  readonly promoteIntervalMs?: number;
  /** How often ended jobs are pruned, ms. */
  readonly pruneIntervalMs?: number;
}

export interface JobQueueModuleOptions {
  readonly connection?: ConnectionOptions;
  /** First part of every Redis key. */
  readonly prefix?: string;
  /** The first one is the default queue. */
  readonly queues?: readonly QueueOptions[];
  /** `false`: this process only enqueues and inspects; handlers are registered but not run, no maintenance. */
  readonly worker?: boolean;
  /** From the stop signal until the last job is finished or released, ms. Keep it below your platform's kill delay. */
  readonly shutdownTimeoutMs?: number;
  /** How long a call to Redis may take before it fails, ms. An `enqueue` always settles within it. */
  readonly commandTimeoutMs?: number;
  readonly maintenance?: MaintenanceOptions;
  /**
   * One log line per transition, through Nest's logger. `text`: `event=done job_id=…`. `object`: the
   * fields as an object, for JSON loggers. `false`: none.
   */
  readonly logging?: 'text' | 'object' | false;
}

/** Stops the enqueue of a job while another one is there. One of the modes, see docs/keys-of-jobs.md. */
export interface DedupOptions {
  /** 1–128 characters; one namespace per queue, across job types. */
  readonly key: string;
  /** Throttle: at most one job in this time, ms, whatever becomes of it. Default: until the job has ended. */
  readonly windowMs?: number;
  /** Debounce: the job starts this long after the last enqueue, ms, with the newest payload. */
  readonly debounceMs?: number;
  /**
   * What a duplicate does. `return` (default): nothing, its caller gets the job that is there; the newest
   * payload is dropped. `reject`: throws. `replace`: the waiting job gets the newest payload and delay; one
   * that runs already is left alone. `rerun`: as `replace`, and if the job runs already, one follow-up with
   * the newest payload runs after it.
   */
  readonly onDuplicate?: 'return' | 'reject' | 'replace' | 'rerun';
  /** `true`: a dead job keeps the key until it is redriven, removed or pruned. */
  readonly keepWhenDead?: boolean;
}

export interface IdempotencyOptions {
  /** 1–128 characters; one namespace per queue. */
  readonly key: string;
  /** What the operation is about. Default: a hash of the payload. The same key with another one is refused. */
  readonly fingerprint?: string;
  /** How long the result is kept for later jobs with the key, ms. */
  readonly ttlMs?: number;
}

export interface EnqueueOptions {
  /** Your own id, 1–128 characters. A second enqueue with it answers `duplicate: true` for as long as the job is kept. */
  readonly jobId?: string | undefined;
  /** ms from now, by the store's clock, until the job is ready. */
  readonly delayMs?: number | undefined;
  /** 0 (first) to 9 (last). */
  readonly priority?: number | undefined;
  /** Overrides the handler's and the queue's limit. */
  readonly maxAttempts?: number | undefined;
  /** Two jobs with the same one (`user:42`) never run at once; the others wait in order. 1–128 characters. */
  readonly resourceKey?: string | undefined;
  /**
   * Names the operation, so that it is done once: a later job with the key ends with the first one's result
   * instead of running. Waits while one is running, takes over when that fails or loses its lease.
   */
  readonly idempotencyKey?: string | IdempotencyOptions | undefined;
  readonly dedup?: DedupOptions | undefined;
  /**
   * Which jobs of a partitioned queue go to the same partition. Default: `resourceKey`, else the idempotency key, else
   * the dedup key, else `jobId`; when several are given and belong to different partitions, this must decide.
   */
  readonly partitionKey?: string | undefined;
}

export interface JobHandlerOptions {
  /** Which queue's jobs it handles. Default: the default queue. */
  readonly queue?: string;
  readonly maxAttempts?: number;
  /** An attempt's signal aborts after this many ms. 0: never. */
  readonly timeoutMs?: number;
  readonly backoff?: Partial<Backoff>;
  /** Class of the payload when the handler is registered by a plain type. */
  readonly payload?: new (...args: never[]) => object;
  /** Says which errors no retry can help; the job is then buried at once. */
  readonly isPermanent?: (error: unknown) => boolean;
}
