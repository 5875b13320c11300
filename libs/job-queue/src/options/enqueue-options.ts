/** Checks the options of one `enqueue`. It runs for every job, so the good case allocates nothing. */
import { InvalidOptionError } from '../errors/errors.js';
import { checkName } from '../job/names.js';
import {
  isIntegerIn,
  isRecord,
  type Keys,
  LIMITS,
  type Range,
  rangeMend,
  unknownKeyMend,
} from './option-checks.js';
import type { DedupOptions, EnqueueOptions, IdempotencyOptions } from './options.js';

const KEYS: Keys<EnqueueOptions> = {
  jobId: true,
  delayMs: true,
  priority: true,
  maxAttempts: true,
  resourceKey: true,
  idempotencyKey: true,
  dedup: true,
  partitionKey: true,
};
const IDEMPOTENCY_KEYS: Keys<IdempotencyOptions> = { key: true, fingerprint: true, ttlMs: true };
const DEDUP_KEYS: Keys<DedupOptions> = {
  key: true,
  windowMs: true,
  debounceMs: true,
  onDuplicate: true,
  keepWhenDead: true,
};
const ON_DUPLICATE = ['return', 'reject', 'replace', 'rerun'];

/** @throws InvalidOptionError naming the first option that cannot work. */
export function checkEnqueueOptions(options: EnqueueOptions | undefined): void {
  if (options === undefined) return;
  const given: unknown = options;
  if (!isRecord(given))
    throw new InvalidOptionError('options', given, 'must be an object of enqueue options');
  for (const key in given) {
    const value = given[key];
    if (!Object.hasOwn(KEYS, key)) throw new InvalidOptionError(key, value, unknownKeyMend(key, KEYS));
    // An option that is spelled out as undefined counts as left out.
    if (value !== undefined) checkOption(key, value, given);
  }
}

function checkOption(key: string, value: unknown, options: Readonly<Record<string, unknown>>): void {
  switch (key) {
    case 'jobId':
      return checkName(key, value);
    case 'delayMs':
      return checkInteger(key, value, LIMITS.delay);
    case 'priority':
      return checkInteger(key, value, LIMITS.priority);
    case 'maxAttempts':
      return checkInteger(key, value, LIMITS.maxAttempts);
    case 'resourceKey':
    case 'partitionKey':
      return checkName(key, value);
    case 'idempotencyKey':
      return typeof value === 'string' ? checkName(key, value) : checkIdempotency(value);
    case 'dedup':
      return checkDedup(value, options.delayMs);
  }
}

function checkIdempotency(value: unknown): void {
  const given = checkKeyed('idempotencyKey', value, IDEMPOTENCY_KEYS);
  const { fingerprint, ttlMs } = given;
  if (fingerprint !== undefined) checkName('idempotencyKey.fingerprint', fingerprint);
  if (ttlMs !== undefined) checkInteger('idempotencyKey.ttlMs', ttlMs, LIMITS.keyTime);
}

function checkDedup(value: unknown, delayMs: unknown): void {
  const { windowMs, debounceMs, onDuplicate, keepWhenDead } = checkKeyed('dedup', value, DEDUP_KEYS);
  if (windowMs !== undefined) checkInteger('dedup.windowMs', windowMs, LIMITS.keyTime);
  if (debounceMs !== undefined) checkInteger('dedup.debounceMs', debounceMs, LIMITS.keyTime);
  if (onDuplicate !== undefined && !ON_DUPLICATE.some((known) => known === onDuplicate)) {
    throw new InvalidOptionError(
      'dedup.onDuplicate',
      onDuplicate,
      `must be one of ${ON_DUPLICATE.join(', ')}`,
    );
  }
  if (keepWhenDead !== undefined && typeof keepWhenDead !== 'boolean') {
    throw new InvalidOptionError('dedup.keepWhenDead', keepWhenDead, 'must be true or false');
  }
  if (debounceMs !== undefined && (windowMs ?? onDuplicate ?? delayMs) !== undefined) {
    const mend = 'decides about delay and duplicates itself: leave out windowMs, onDuplicate and delayMs';
    throw new InvalidOptionError('dedup.debounceMs', debounceMs, mend);
  }
  if (windowMs !== undefined && onDuplicate === 'rerun') {
    const mend = 'does not go with onDuplicate "rerun": a window ends by time, not with the job';
    throw new InvalidOptionError('dedup.windowMs', windowMs, mend);
  }
}

function checkKeyed(
  field: string,
  value: unknown,
  keys: Readonly<Record<string, true>>,
): Record<string, unknown> {
  if (!isRecord(value)) throw new InvalidOptionError(field, value, 'must be an object with a `key`');
  for (const key in value) {
    if (!Object.hasOwn(keys, key)) {
      throw new InvalidOptionError(`${field}.${key}`, value[key], unknownKeyMend(key, keys));
    }
  }
  checkName(`${field}.key`, value.key);
  return value;
}

function checkInteger(key: string, value: unknown, range: Range): void {
  if (!isIntegerIn(value, range)) throw new InvalidOptionError(key, value, rangeMend(range));
}
