/** The only place where a number is chosen. Each says why it is what it is. */

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

/** What users can override; the README's table is checked against it. */
export const DEFAULTS = {
  prefix: 'fl',
  worker: true,
  /** Kubernetes kills 30 s after SIGTERM; this leaves 5 s for the rest of the app. */
  shutdownTimeoutMs: 25 * SECOND,
  commandTimeoutMs: 5 * SECOND,
  logging: 'text',
  maintenance: {
    reapIntervalMs: 5 * SECOND,
    /** Claims promote what is due themselves; this is for when nobody claims. */
    promoteIntervalMs: 10 * SECOND,
    pruneIntervalMs: MINUTE,
  },
  queue: {
    name: 'jobs',
    concurrency: 20,
    partitions: 1,
    leaseMs: 30 * SECOND,
    maxAttempts: 5,
    backoff: { baseDelayMs: SECOND, maxDelayMs: 5 * MINUTE, jitter: 'full' },
    timeoutMs: 0,
    abortGraceMs: 5 * SECOND,
    payloadLimitBytes: 256 * 1024,
    resultLimitBytes: 256 * 1024,
    retention: {
      done: { count: 10_000, ageMs: DAY },
      cancelled: { count: 10_000, ageMs: DAY },
      /** Dead jobs wait for a person, who may be on holiday. */
      dead: { count: 100_000, ageMs: 30 * DAY },
    },
  },
  enqueue: {
    priority: 5,
    delayMs: 0,
    dedup: { onDuplicate: 'return', keepWhenDead: false },
    /** Longer than any client or broker repeats a request. */
    idempotency: { ttlMs: DAY },
  },
  lock: { ttlMs: 30 * SECOND, waitMs: 10 * SECOND },
  idempotency: {
    /** As for jobs. */
    ttlMs: DAY,
    leaseMs: 30 * SECOND,
    /** A client that repeats a request too early is better told so than kept on an open connection. */
    waitMs: 0,
    resultLimitBytes: 256 * 1024,
  },
} as const;

/** What nobody needs to tune. */
export const INTERNAL = {
  /** Calls in flight per worker: while Redis works on one, Node runs the other's jobs (88 → 130 k jobs/s). */
  lanes: 2,
  /**
   * Claiming ahead of the slots: after how many runs, when a run takes at most what part of a call to the store, how
   * many jobs at most, and how much each new figure changes the mean.
   */
  claimAheadAfterRuns: 100,
  claimAheadFactor: 4,
  claimAheadMax: 100,
  claimAheadSmoothing: 0.05,
  /** A job claimed ahead that did not get a slot within this is given back. */
  claimAheadWaitMs: 10,
  /** Heartbeats per lease: two may fail before the lease is in danger. */
  heartbeatsPerLease: 3,
  /** Part of a lease by which the local deadline comes before the store's, for clock drift and a slow reply. */
  leaseMarginRatio: 0.1,
  /** Parts of the shutdown time kept for handlers that react to the signal, and for the last calls. */
  shutdownGraceRatio: 0.3,
  shutdownLastCallsRatio: 0.1,
  /** An idle worker claims this often even if nothing wakes it, so that a lost wake-up costs seconds. */
  idlePollMs: 5 * SECOND,
  /** A blocking call that has not answered this long after its own timeout hangs on a dead connection. */
  blockGraceMs: 2 * SECOND,
  /**
   * Backoff of a worker that cannot reach its store: once for the connection and once for the call, so that both together
   * stay within the 5 s after which everything must work again.
   */
  storeRetry: { baseDelayMs: 100, maxDelayMs: 2 * SECOND, jitter: 'full' },
  /** A primary that takes longer than this to answer a new connection was away, and may have been replaced. */
  sentinelStaleMs: SECOND,
  /** While the server of a key is away: how often to look whether it, or another in its place, is ready. */
  clusterRecheckMs: 10,
  /** Pause before a command that was not carried out is tried again, while its keys are on the move. */
  clusterPauseMs: 50,
  /** Least time between two questions to a cluster who has which keys, and the longest. */
  clusterRefreshMs: 100,
  clusterRefreshIntervalMs: 15 * SECOND,
  /** For how long a worker takes a partition that had no work to have none, unless it is woken. */
  partitionEmptyForMs: 50,
  /** A job of an unknown type is put back for this long, and buried after the second figure. */
  unknownTypeDelayMs: 15 * SECOND,
  unknownTypePatienceMs: HOUR,
  /** Jobs and bytes per enqueue script: bounds how long one call keeps Redis busy. */
  enqueueChunkJobs: 250,
  enqueueChunkBytes: 1024 * 1024,
  /** Chunks of one `enqueueMany` that are sent before the first is answered. */
  enqueueChunksUnderWay: 4,
  /** A worker's record is kept this long after its last heartbeat, so that a repeated call still finds its number. */
  forgetWorkerMs: HOUR,
  /** Blocked jobs that one reap looks at for a key nobody holds. */
  blockedLookedAt: 1_000,
  /** Jobs per maintenance script, for the same reason. */
  maintenanceBatch: 500,
  /** Upper bound of what one call of a worker claims, and of what it settles. */
  callMax: 500,
  /** Kept of an error: enough for a stack, not enough to fill Redis. */
  errorMessageLimit: 2_000,
  errorStackLimit: 4_000,
  errorCauseDepth: 5,
  /** A waiter asks again at the latest after this, so that neither a lost message nor a dead holder costs more. */
  lockRecheckMs: 10 * SECOND,
  /** By how much later each in the line asks than the one in front of it, who may be dead: a long line does not come at once. */
  lockRecheckStepMs: 50,
  /** How much later than announced a waiter may ask again before it counts as dead: a full command timeout. */
  lockWaiterGraceMs: 5 * SECOND,
  /** A waiter that was given the lock and does not take it within this is dead; the next one gets it. */
  lockTakeUpMs: 5 * SECOND,
  /** How long the last token of an unused lock is remembered. Longer than any clock of a Redis server is wrong. */
  lockFenceKeepMs: HOUR,
  /** A half-open subscription is noticed after at most twice this. */
  lockSubscriptionPingMs: 5 * SECOND,
  /** How long a waiter that gives up waits for its entry to be gone before it reports. */
  lockGiveUpMs: SECOND,
  /** Waiters that `inspect` lists at most. */
  lockInspectLimit: 1_000,
  /** An operation whose owner vanished is remembered so long: its late owner may still end it, its key still means the same. */
  forgetAbandonedClaimMs: HOUR,
  /** Pauses of one that waits for a running operation: short at first, since most are. */
  idempotencyPoll: { baseDelayMs: 10, maxDelayMs: 500, jitter: 'none' },
  /** When to come again while an operation runs. Its lease says when at the latest; most take far less. */
  idempotencyRetryAfterMs: SECOND,
  /** After the handler ended and the connection closed, an answer may still be on its way through interceptors. */
  unansweredGraceMs: 5 * SECOND,
  /** Nested deeper than any honest request, and far from the end of the stack. */
  canonicalJsonDepth: 500,
  /** Records under which the memory store does not look for expired ones. */
  memorySweepMinimum: 1_000,
  /** A health check answers within this, whatever Redis does; Kubernetes gives up after 1 s. */
  healthTimeoutMs: 800,
  /** How long a queue counts as degraded after its store lost data: long enough for a person to come and look. */
  dataLossShownMs: HOUR,
  /** Sliding window of the lease health check. */
  leaseWindowMs: 5 * MINUTE,
} as const;

/** Thresholds of the health checks, overridable per check. */
export const HEALTH_DEFAULTS = {
  degradedDepth: 10_000,
  downDepth: 100_000,
  degradedOldestReadyMs: MINUTE,
  downOldestReadyMs: 15 * MINUTE,
  degradedDead: 100,
  downDead: 10_000,
  degradedLostLeases: 1,
  downLostLeases: 100,
  /** A worker whose claim loop has not turned for this long is wedged. Longer than an idle poll, two call timeouts and a blocked event loop together. */
  downLoopAgeMs: 30 * SECOND,
} as const;
