/** The public surface of `@fenceline/nestjs`. */
export { JobQueueModule } from './nest/job-queue.module.js';
export { JobHandler } from './nest/decorators.js';
export { QueueService, Queue, type JobToEnqueue } from './queue/queue.service.js';
export type { EnqueueResult } from './queue/enqueue-batcher.js';
export { QueueInspector, type JobList, type ListOptions } from './queue/queue-inspector.js';
export { QueueAdmin, type RedriveFilter } from './queue/queue-admin.js';
export { LockService, type FencedEntry, type LockHolder, type LockView } from './lock/lock.service.js';
export type { Lease } from './lock/lease.js';
export { currentLease, WithLock } from './lock/with-lock.decorator.js';
export type { LockOptions, TryAcquireOptions } from './options/lock-options.js';
export { JobContext, type Checkpoint } from './worker/job-context.js';
export { defineJob, type JobDefinition, type PayloadClass } from './job/job-definition.js';
export {
  JOB_STATUSES,
  type DeadReason,
  type EndedStatus,
  type FencingToken,
  type Job,
  type JobError,
  type JobStatus,
} from './job/job.js';
export type { Backoff } from './job/backoff.js';
export {
  JobEvents,
  type AttemptRef,
  type JobEventListener,
  type JobEventMap,
  type JobEventName,
  type JobRef,
} from './events/job-events.js';
export { QueueHealthIndicator } from './health/queue.health.js';
export { IdempotencyService } from './idempotency/idempotency.service.js';
export type { IdempotencyContext } from './idempotency/idempotency-claim.js';
export {
  IdempotencyEvents,
  type IdempotencyEvent,
  type IdempotencyEventName,
  type IdempotencyListener,
} from './idempotency/idempotency-events.js';
export { Idempotent, bodyField } from './idempotency/idempotent.decorator.js';
export { IdempotentInterceptor } from './idempotency/idempotent.interceptor.js';
export { IdempotencyProblem, type ProblemDetails } from './idempotency/idempotency-problem.js';
export { currentIdempotency } from './idempotency/handler-entry.js';
export type { IdempotentRunOptions } from './options/idempotency-options.js';
export type { IdempotentOptions, IdempotentRequest } from './options/idempotent-options.js';
export type { IdempotencyRecord } from './store/idempotency-store.js';
export { LeaseHealthIndicator } from './health/lease.health.js';
export { WorkerHealthIndicator } from './health/worker.health.js';
export type {
  ConnectionOptions,
  DedupOptions,
  EnqueueOptions,
  IdempotencyOptions,
  JobHandlerOptions,
  JobQueueModuleOptions,
  MaintenanceOptions,
  QueueOptions,
  Retention,
} from './options/options.js';
export type { JobCounts, QueueSnapshot, Stat, StatCounts } from './store/job-store.js';
export type { EnqueueReply } from './store/new-job.js';
export {
  CheckpointUnreadableError,
  CheckpointUnstorableError,
  ConfigurationError,
  EnqueueRefusedError,
  EnqueueUnknownError,
  FencelineError,
  IllegalTransitionError,
  IncompatibleStoreError,
  InvalidOptionError,
  JobNotFoundError,
  PayloadTooLargeError,
  PayloadValidationError,
  ResultUnstorableError,
  StaleTokenError,
  StoreUnavailableError,
  UnknownQueueError,
  type FieldViolation,
} from './errors/errors.js';
export {
  DedupTypeError,
  DuplicateJobError,
  IdempotencyConflictError,
  KeyTakenError,
  PartitionConflictError,
} from './errors/key-errors.js';
export {
  IdempotencyBusyError,
  IdempotencyLostError,
  IdempotencyUnreplayableError,
} from './errors/idempotency-errors.js';
export {
  AttemptsExhaustedError,
  JobCancelledError,
  JobTimeoutError,
  LeaseLostError,
  PermanentError,
  RetryAfterError,
  UnknownJobTypeError,
  UnreadableSpecError,
  WorkerShutdownError,
} from './errors/attempt-errors.js';
export { LockLostError, LockTimeoutError, StaleFenceError } from './errors/lock-errors.js';
