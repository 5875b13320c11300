/** What is logged of each event, and at which level. Never a payload or a result. */
import type { AttemptRef, JobEventMap, JobEventName, JobRef } from '../events/job-events.js';
import { PayloadValidationError } from '../errors/errors.js';
import type { JobError } from '../job/job.js';
import { toJobError } from '../job/job-error.js';

export type EventLevel = 'debug' | 'log' | 'warn' | 'error';

/** Field names as they are logged. One that is `undefined` is left out. */
export interface EventFields {
  readonly queue: string;
  readonly job_id?: string;
  readonly job_type?: string | undefined;
  readonly attempt?: number;
  /** The worker that speaks. */
  readonly worker_id?: string | undefined;
  /** Who holds the lease now, as far as known; of a reaped job, who held it. */
  readonly lease_owner?: string | undefined;
  readonly fencing_token?: number | undefined;
  readonly resource_key?: string | undefined;
  readonly idempotency_key?: string | undefined;
  readonly status?: string | undefined;
  readonly duplicate?: boolean;
  readonly leases?: number;
  readonly jobs?: number;
  readonly duration_ms?: number | undefined;
  readonly delay_ms?: number;
  readonly grace_ms?: number;
  readonly reason?: string;
  /** How much of its data the store has lost. */
  readonly lost?: string;
  readonly error?: string;
  /** The errors behind it, outermost first. */
  readonly error_cause?: string;
}

interface EventLine<Data> {
  readonly level: EventLevel;
  readonly fields: (data: Data) => EventFields;
}

const ADVICE_AFTER_LOSS = {
  all:
    'Redis has lost everything it held of this queue: FLUSHALL, a restart without persistence, or a failover to an empty ' +
    'server. Jobs that had not ended will not run. Enqueue again what your own records say is missing, and find the cause',
  latest:
    'Redis went back to an older copy of this queue: the latest jobs may be missing, and others may run again. ' +
    'Enqueue again what your own records say is missing, and check persistence and failover',
} as const;

export const EVENT_LINES: { readonly [E in JobEventName]: EventLine<JobEventMap[E]> } = {
  enqueued: {
    level: 'debug',
    fields: ({ queue, jobId, jobType, status, duplicate }) => ({
      queue,
      job_id: jobId,
      job_type: jobType,
      status,
      duplicate,
    }),
  },
  blocked: { level: 'debug', fields: inWorker },
  replayed: { level: 'log', fields: inWorker },
  acquired: { level: 'debug', fields: held },
  renewed: {
    level: 'debug',
    fields: ({ queue, workerId, leases }) => ({
      queue,
      worker_id: workerId,
      lease_owner: workerId,
      leases,
    }),
  },
  lost: { level: 'warn', fields: (data) => ({ ...attempt(data), reason: data.reason }) },
  done: { level: 'log', fields: (data) => ({ ...held(data), duration_ms: data.durationMs }) },
  retry_scheduled: {
    level: 'warn',
    fields: (data) => ({
      ...held(data),
      duration_ms: data.durationMs,
      delay_ms: data.delayMs,
      ...errorFields(data.error),
    }),
  },
  dead: {
    level: 'error',
    fields: (data) => ({
      ...held(data),
      duration_ms: data.durationMs,
      reason: data.reason,
      ...errorFields(data.error),
    }),
  },
  cancelled: {
    level: 'log',
    fields: ({ queue, jobId, workerId, durationMs }) => ({
      queue,
      job_id: jobId,
      worker_id: workerId,
      lease_owner: workerId,
      duration_ms: durationMs,
    }),
  },
  released: { level: 'log', fields: (data) => ({ ...held(data), duration_ms: data.durationMs }) },
  snoozed: {
    level: 'log',
    fields: (data) => ({ ...held(data), delay_ms: data.delayMs, ...errorFields(data.error) }),
  },
  stale_refused: {
    level: 'warn',
    fields: (data) => ({
      ...attempt(data),
      lease_owner: data.holder,
      status: data.status,
      duration_ms: data.durationMs,
    }),
  },
  runaway: { level: 'warn', fields: (data) => ({ ...held(data), grace_ms: data.graceMs }) },
  reaped: {
    level: 'warn',
    // `worker_id` would be read as the worker that reaped.
    fields: (data) => ({
      queue: data.queue,
      job_id: data.jobId,
      attempt: data.attempt,
      lease_owner: data.workerId,
      fencing_token: data.fencingToken,
      status: data.status,
    }),
  },
  promoted: { level: 'debug', fields: ({ queue, jobs }) => ({ queue, jobs }) },
  pruned: { level: 'debug', fields: ({ queue, jobs }) => ({ queue, jobs }) },
  redriven: { level: 'log', fields: ({ queue, jobId }) => ({ queue, job_id: jobId }) },
  removed: { level: 'log', fields: ({ queue, jobId }) => ({ queue, job_id: jobId }) },
  cancel_requested: { level: 'log', fields: ({ queue, jobId }) => ({ queue, job_id: jobId }) },
  paused: { level: 'log', fields: ({ queue }) => ({ queue }) },
  resumed: { level: 'log', fields: ({ queue }) => ({ queue }) },
  store_unavailable: {
    level: 'error',
    fields: ({ queue, workerId, error }) => ({ queue, worker_id: workerId, ...errorFields(error) }),
  },
  store_lost_data: {
    level: 'error',
    fields: ({ queue, lost }) => ({ queue, lost, error: ADVICE_AFTER_LOSS[lost] }),
  },
  store_recovered: {
    level: 'log',
    fields: ({ queue, workerId, outageMs }) => ({ queue, worker_id: workerId, duration_ms: outageMs }),
  },
};

function attempt(data: AttemptRef): EventFields {
  return {
    queue: data.queue,
    job_id: data.jobId,
    job_type: data.jobType,
    attempt: data.attempt,
    worker_id: data.workerId,
    // Its place in the line; who holds the lease is not known here.
    lease_owner: undefined,
    fencing_token: data.fencingToken,
    resource_key: data.resourceKey,
    idempotency_key: data.idempotencyKey,
  };
}

function inWorker({ queue, jobId, workerId }: JobRef & { workerId: string }): EventFields {
  return { queue, job_id: jobId, worker_id: workerId };
}

/** Of an attempt whose lease was the worker's own to the end. */
function held(data: AttemptRef): EventFields {
  return { ...attempt(data), lease_owner: data.workerId };
}

function errorFields(error: unknown): Pick<EventFields, 'error' | 'error_cause'> {
  const top = toJobError(error);
  const causes: string[] = [];
  for (let cause = top.cause; cause !== undefined; cause = cause.cause) causes.push(nameAndMessage(cause));
  const shown = error instanceof PayloadValidationError ? { ...top, message: error.outline } : top;
  return {
    error: nameAndMessage(shown),
    ...(causes.length > 0 && { error_cause: causes.join(' <- ') }),
  };
}

function nameAndMessage({ name, message }: JobError): string {
  return message === '' ? name : `${name}: ${message}`;
}
