/** Checks the options of a `@JobHandler`. */
import { ConfigurationError } from '../errors/errors.js';
import { checkQueueName } from '../job/names.js';
import {
  BACKOFF_KEYS,
  choiceOption,
  isIntegerIn,
  JITTERS,
  type Keys,
  LIMITS,
  nameOption,
  optionalRecord,
  type Range,
  rangeMend,
  refuseUnknownKeys,
} from './option-checks.js';
import type { JobHandlerOptions } from './options.js';

const KEYS: Keys<JobHandlerOptions> = {
  queue: true,
  maxAttempts: true,
  timeoutMs: true,
  backoff: true,
  payload: true,
  isPermanent: true,
};

/**
 * `where` says which handler it is and starts the error's `field`, e.g. `MailHandlers.send @JobHandler('send_email')`.
 * @throws ConfigurationError naming the first option that cannot work.
 */
export function checkHandlerOptions(where: string, options: JobHandlerOptions | undefined): void {
  const given = optionalRecord(`${where} options`, options);
  const field = (option: string): string => `${where} ${option}`;
  refuseUnknownKeys(field(''), given, KEYS);
  if (given.queue !== undefined) nameOption(field('queue'), given.queue, checkQueueName);
  checkInteger(field('maxAttempts'), given.maxAttempts, LIMITS.maxAttempts);
  checkInteger(field('timeoutMs'), given.timeoutMs, LIMITS.timerOrNone);
  checkBackoff(field('backoff'), given.backoff);
  if (given.payload !== undefined && typeof given.payload !== 'function') {
    throw new ConfigurationError(field('payload'), given.payload, 'must be the class of the payload');
  }
  if (given.isPermanent !== undefined && typeof given.isPermanent !== 'function') {
    const mend = 'must be a function that says of an error whether no retry can help';
    throw new ConfigurationError(field('isPermanent'), given.isPermanent, mend);
  }
}

/** Whether `baseDelayMs` and `maxDelayMs` go together is known only with the queue's backoff underneath; any two of them work. */
function checkBackoff(path: string, value: unknown): void {
  const given = optionalRecord(path, value);
  refuseUnknownKeys(`${path}.`, given, BACKOFF_KEYS);
  checkInteger(`${path}.baseDelayMs`, given.baseDelayMs, LIMITS.delay);
  checkInteger(`${path}.maxDelayMs`, given.maxDelayMs, LIMITS.delay);
  choiceOption(`${path}.jitter`, given.jitter, 'full', JITTERS);
}

function checkInteger(field: string, value: unknown, range: Range): void {
  if (value !== undefined && !isIntegerIn(value, range)) {
    throw new ConfigurationError(field, value, rangeMend(range));
  }
}
