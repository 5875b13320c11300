/** Turns a stored record into the `Job` that people look at. A record that cannot be read is shown as such. */
import type { DeadReason, Job } from '../job/job.js';
import { parseError } from '../job/job-error.js';
import { readSpec, type JobSpec } from '../job/spec.js';
import type { JobRecord } from '../store/job-store.js';
import type { QueueEntry, QueueRegistry } from './queue-registry.js';

const ENDED: readonly string[] = ['done', 'dead', 'cancelled'];

export function viewJob(record: JobRecord, { options }: QueueEntry, registry: QueueRegistry): Job {
  const { spec, specError } = trySpec(record);
  const maxAttempts = limitOf(spec, options, registry);
  return {
    id: record.id,
    queue: options.name,
    status: record.status,
    type: spec?.type,
    payload: spec?.payload,
    ...(specError === undefined ? {} : { specError }),
    priority: record.priority,
    attempt: attemptsRun(record, maxAttempts),
    maxAttempts,
    createdAt: spec?.createdAt,
    updatedAt: record.updatedAt ?? spec?.createdAt,
    startedAt: record.startedAt,
    endedAt: ENDED.includes(record.status) ? record.updatedAt : undefined,
    dueAt: record.dueAt,
    leaseExpiresAt: record.leaseExpiresAt,
    workerId: record.workerId,
    fencingToken: record.token,
    result: record.result === undefined ? undefined : parseJson(record.result),
    lastError: record.error === undefined ? undefined : parseError(record.error),
    deadReason: record.deadReason as DeadReason | undefined,
    redriveCount: record.redriveCount,
    attemptsBeforeRedrive: record.attemptsBeforeRedrive,
    cancelRequested: record.cancelRequested,
    resourceKey: record.resourceKey,
    idempotencyKey: record.idempotencyKey,
    dedupKey: record.dedupKey,
    blockedOn: record.blockedOn,
  };
}

function limitOf(spec: JobSpec | undefined, queue: QueueEntry['options'], registry: QueueRegistry): number {
  const handlerLimit = spec && registry.typeInfo(queue.name, spec.type)?.maxAttempts;
  return spec?.maxAttempts ?? handlerLimit ?? queue.maxAttempts;
}

/** A job that killed its workers was claimed once more to be buried; that was no run of its handler. */
function attemptsRun({ attempt, deadReason }: JobRecord, maxAttempts: number): number {
  return deadReason === 'attempts_exhausted' ? Math.min(attempt, maxAttempts) : attempt;
}

function trySpec(record: JobRecord): { spec?: JobSpec; specError?: string } {
  try {
    return { spec: readSpec(record.id, record.spec) };
  } catch (error) {
    return { specError: error instanceof Error ? error.message : String(error) };
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    // Written by hand, perhaps. Showing the text helps more than hiding the job.
    return text;
  }
}
