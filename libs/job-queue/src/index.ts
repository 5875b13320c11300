/** The public surface of `@fenceline/nestjs`. */
export { JobQueueModule } from './nest/job-queue.module.js';
export { JobHandler } from './nest/decorators.js';
export { QueueService, Queue, type JobToEnqueue } from './queue/queue.service.js';
export type { EnqueueResult } from './queue/enqueue-batcher.js';
export { QueueInspector, type JobList, type ListOptions } from './queue/queue-inspector.js';
export { QueueAdmin, type RedriveFilter } from './queue/queue-admin.js';
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
export { LeaseHealthIndicator } from './health/lease.health.js';
export { WorkerHealthIndicator } from './health/worker.health.js';
export type {
  ConnectionOptions,
  EnqueueOptions,
  JobHandlerOptions,
  JobQueueModuleOptions,
  MaintenanceOptions,
  QueueOptions,
  Retention,
} from './options/options.js';
export type { EnqueueReply, JobCounts, QueueSnapshot, Stat, StatCounts } from './store/job-store.js';
export {
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
