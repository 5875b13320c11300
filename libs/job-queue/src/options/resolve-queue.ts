/** Turns the options of one queue into complete ones. */
import { ConfigurationError } from '../errors/errors.js';
import type { Backoff } from '../job/backoff.js';
import type { EndedStatus } from '../job/job.js';
import { checkQueueName } from '../job/names.js';
import { DEFAULTS } from './defaults.js';
import {
  BACKOFF_KEYS,
  choiceOption,
  integerOption,
  isRecord,
  JITTERS,
  type Keys,
  LIMITS,
  nameOption,
  optionalRecord,
  type Range,
  refuseUnknownKeys,
} from './option-checks.js';
import type { QueueOptions, Retention } from './options.js';

export interface ResolvedQueueOptions {
  readonly name: string;
  readonly concurrency: number;
  readonly partitions: number;
  readonly leaseMs: number;
  readonly maxAttempts: number;
  readonly backoff: Backoff;
  readonly timeoutMs: number;
  readonly abortGraceMs: number;
  readonly payloadLimitBytes: number;
  readonly resultLimitBytes: number;
  readonly retention: Readonly<Record<EndedStatus, Retention>>;
}

/** The options of a queue that are one number. */
type IntegerQueueOption = Exclude<keyof QueueOptions, 'name' | 'backoff' | 'retention'>;

const QUEUE_KEYS: Keys<QueueOptions> = {
  name: true,
  concurrency: true,
  partitions: true,
  leaseMs: true,
  maxAttempts: true,
  backoff: true,
  timeoutMs: true,
  abortGraceMs: true,
  payloadLimitBytes: true,
  resultLimitBytes: true,
  retention: true,
};
const RETENTION_STATUSES: Keys<Record<EndedStatus, unknown>> = { done: true, dead: true, cancelled: true };
const RETENTION_KEYS: Keys<Retention> = { count: true, ageMs: true };

/** @throws ConfigurationError whose field starts with `path`, such as `queues[0]`. */
export function resolveQueue(path: string, given: unknown, commandTimeoutMs: number): ResolvedQueueOptions {
  if (!isRecord(given))
    throw new ConfigurationError(path, given, "must be an object such as { name: 'jobs' }");
  refuseUnknownKeys(`${path}.`, given, QUEUE_KEYS);
  const { queue } = DEFAULTS;
  const integer = (option: IntegerQueueOption, range: Range): number =>
    integerOption(`${path}.${option}`, given[option], queue[option], range);
  return {
    name: nameOption(`${path}.name`, given.name, checkQueueName),
    concurrency: integer('concurrency', LIMITS.concurrency),
    partitions: integer('partitions', LIMITS.partitions),
    leaseMs: integer('leaseMs', LIMITS.lease),
    maxAttempts: integer('maxAttempts', LIMITS.maxAttempts),
    backoff: resolveBackoff(`${path}.backoff`, given.backoff),
    timeoutMs: integer('timeoutMs', LIMITS.timerOrNone),
    abortGraceMs: integer('abortGraceMs', LIMITS.timerOrNone),
    payloadLimitBytes: integer('payloadLimitBytes', LIMITS.bytes),
    resultLimitBytes: integer('resultLimitBytes', LIMITS.bytes),
    retention: resolveRetention(`${path}.retention`, given.retention, commandTimeoutMs),
  };
}

function resolveBackoff(path: string, value: unknown): Backoff {
  const given = optionalRecord(path, value);
  refuseUnknownKeys(`${path}.`, given, BACKOFF_KEYS);
  const { backoff } = DEFAULTS.queue;
  const { delay } = LIMITS;
  const baseDelayMs = integerOption(`${path}.baseDelayMs`, given.baseDelayMs, backoff.baseDelayMs, delay);
  const maxDelayMs = integerOption(`${path}.maxDelayMs`, given.maxDelayMs, backoff.maxDelayMs, delay);
  if (maxDelayMs < baseDelayMs) {
    const mend = `must be at least baseDelayMs (${baseDelayMs}), or every delay is cut to it`;
    throw new ConfigurationError(`${path}.maxDelayMs`, maxDelayMs, mend);
  }
  const jitter = choiceOption(`${path}.jitter`, given.jitter, backoff.jitter, JITTERS);
  return { baseDelayMs, maxDelayMs, jitter };
}

function resolveRetention(
  path: string,
  value: unknown,
  commandTimeoutMs: number,
): ResolvedQueueOptions['retention'] {
  const given = optionalRecord(path, value);
  refuseUnknownKeys(`${path}.`, given, RETENTION_STATUSES);
  const ofStatus = (status: EndedStatus): Retention =>
    resolveStatusRetention(
      `${path}.${status}`,
      given[status],
      DEFAULTS.queue.retention[status],
      commandTimeoutMs,
    );
  return { done: ofStatus('done'), cancelled: ofStatus('cancelled'), dead: ofStatus('dead') };
}

function resolveStatusRetention(
  path: string,
  value: unknown,
  fallback: Retention,
  commandTimeoutMs: number,
): Retention {
  const given = optionalRecord(path, value);
  refuseUnknownKeys(`${path}.`, given, RETENTION_KEYS);
  const count = integerOption(`${path}.count`, given.count, fallback.count, LIMITS.retentionCount);
  const ageMs = integerOption(`${path}.ageMs`, given.ageMs, fallback.ageMs, LIMITS.delay);
  // `count: 0` asks for no history at all, in so many words; it gives up what this protects.
  const least = 2 * commandTimeoutMs;
  if (count > 0 && ageMs < least) {
    const mend =
      `must be at least ${least}, twice commandTimeoutMs: an enqueue whose reply was lost is repeated within ` +
      'that time and must still meet its first job, or it runs twice. To keep no jobs at all, use count: 0';
    throw new ConfigurationError(`${path}.ageMs`, ageMs, mend);
  }
  return { count, ageMs };
}
