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
import type { EnqueueOptions } from './options.js';

const KEYS: Keys<EnqueueOptions> = {
  jobId: true,
  delayMs: true,
  priority: true,
  maxAttempts: true,
};

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
    if (value !== undefined) checkOption(key, value);
  }
}

function checkOption(key: string, value: unknown): void {
  switch (key) {
    case 'jobId':
      return checkName(key, value);
    case 'delayMs':
      return checkInteger(key, value, LIMITS.delay);
    case 'priority':
      return checkInteger(key, value, LIMITS.priority);
    case 'maxAttempts':
      return checkInteger(key, value, LIMITS.maxAttempts);
  }
}

function checkInteger(key: string, value: unknown, range: Range): void {
  if (!isIntegerIn(value, range)) throw new InvalidOptionError(key, value, rangeMend(range));
}
