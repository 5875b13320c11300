/** Turns the key options of an enqueue into what the store needs, and the store's refusals into typed errors. */
import { createHash } from 'node:crypto';
import { DedupTypeError, DuplicateJobError, IdempotencyConflictError } from '../errors/key-errors.js';
import { InvalidOptionError } from '../errors/errors.js';
import { DEFAULTS } from '../options/defaults.js';
import type { DedupOptions, EnqueueOptions, IdempotencyOptions } from '../options/options.js';
import type { DedupRequest, EnqueueRefusal, IdempotencyRequest, JobKeys, NewJob } from '../store/new-job.js';

const { dedup: DEDUP, idempotency: IDEMPOTENCY } = DEFAULTS.enqueue;

/** `undefined` for a job without keys. `payload` is its JSON text. */
export function toJobKeys(
  type: string,
  payload: string,
  options: EnqueueOptions | undefined,
): JobKeys | undefined {
  if (options === undefined) return undefined;
  const { resourceKey: resource, idempotencyKey, dedup } = options;
  if (resource === undefined && idempotencyKey === undefined && dedup === undefined) return undefined;
  return {
    resource,
    idempotency: idempotencyKey === undefined ? undefined : toIdempotency(type, payload, idempotencyKey),
    dedup: dedup && toDedup(type, dedup),
  };
}

function toIdempotency(
  type: string,
  payload: string,
  option: string | IdempotencyOptions,
): IdempotencyRequest {
  const {
    key,
    fingerprint,
    ttlMs = IDEMPOTENCY.ttlMs,
  } = typeof option === 'string' ? { key: option } : option;
  return { key, fingerprint: fingerprint ?? hashOf(`${type}\n${payload}`), ttlMs };
}

function toDedup(type: string, options: DedupOptions): DedupRequest {
  const { key, windowMs, debounceMs, onDuplicate, keepWhenDead } = options;
  return {
    key,
    type,
    windowMs,
    // The newest payload must win also when the job runs already, or the last change would be lost.
    onDuplicate: debounceMs === undefined ? (onDuplicate ?? DEDUP.onDuplicate) : 'rerun',
    keepWhenDead: keepWhenDead ?? DEDUP.keepWhenDead,
  };
}

/** Short enough to keep the run hash compact; 256 bits are not confused by chance. */
function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}

export function refusalError({ refused, holder = '?' }: EnqueueRefusal, { keys }: NewJob): Error {
  const { dedup, idempotency } = keys ?? {};
  if (dedup && refused === 'duplicate') return new DuplicateJobError(dedup.key, holder);
  if (dedup && refused === 'dedup_type') return new DedupTypeError(dedup.key, dedup.type, holder);
  if (idempotency) return new IdempotencyConflictError(idempotency.key);
  const mend = `must be the one of job "${holder}", whose payload this enqueue would replace`;
  return new InvalidOptionError('idempotencyKey', undefined, mend);
}
