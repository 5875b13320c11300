/** Checks what callers give IdempotencyService: keys and options. */
import { InvalidOptionError } from '../errors/errors.js';
import { DEFAULTS } from './defaults.js';
import {
  checkText,
  isIntegerIn,
  isRecord,
  type Keys,
  LIMITS,
  type Range,
  rangeMend,
  unknownKeyMend,
} from './option-checks.js';

/** How long an operation may take, wait and be remembered. */
export interface IdempotencyTimes {
  /** How long the result is kept and given again, ms from the end of the operation. Longer than anyone repeats it. */
  readonly ttlMs?: number;
  /**
   * How long the operation stays claimed after its process stops renewing it, ms: what a crash costs. Renewed
   * every third of it. Danger: shorter than the longest pause of your process makes operations run twice.
   */
  readonly leaseMs?: number;
  /** How long to wait for one that runs elsewhere, ms. 0: not at all. */
  readonly waitMs?: number;
  /** Largest result, bytes of JSON. A larger one is given to the first caller, and cannot be given again. */
  readonly resultLimitBytes?: number;
}

export interface IdempotentRunOptions extends IdempotencyTimes {
  /**
   * What the operation is about, any JSON value; a hash of it is stored. The same key with another one is
   * refused. Left out: it fits every other one.
   */
  readonly fingerprint?: unknown;
  /** Ends the waiting, and aborts the operation's own signal. */
  readonly signal?: AbortSignal;
}

export interface ResolvedRunOptions extends Required<IdempotencyTimes> {
  readonly fingerprint: unknown;
  readonly signal: AbortSignal | undefined;
}

export const IDEMPOTENCY_TIMES_KEYS: Keys<IdempotencyTimes> = {
  ttlMs: true,
  leaseMs: true,
  waitMs: true,
  resultLimitBytes: true,
};
const RUN_KEYS: Keys<IdempotentRunOptions> = { ...IDEMPOTENCY_TIMES_KEYS, fingerprint: true, signal: true };

/** @throws InvalidOptionError naming `field`. */
export function checkIdempotencyKey(field: string, key: unknown): asserts key is string {
  checkText(field, key, LIMITS.idempotencyKeyLength);
}

/** @throws InvalidOptionError naming the first option that cannot work. */
export function resolveRunOptions(options: unknown): ResolvedRunOptions {
  const given = recordOfOptions(options, RUN_KEYS);
  const { signal, fingerprint } = given;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new InvalidOptionError('signal', signal, 'must be an AbortSignal');
  }
  return { ...resolveTimes(given), fingerprint, signal };
}

/** @throws InvalidOptionError naming the first option that cannot work. */
export function resolveTimes(given: Readonly<Record<string, unknown>>): Required<IdempotencyTimes> {
  const { ttlMs, leaseMs, waitMs, resultLimitBytes } = DEFAULTS.idempotency;
  return {
    ttlMs: integer('ttlMs', given['ttlMs'], ttlMs, LIMITS.keyTime),
    leaseMs: integer('leaseMs', given['leaseMs'], leaseMs, LIMITS.lease),
    waitMs: integer('waitMs', given['waitMs'], waitMs, LIMITS.timerOrNone),
    resultLimitBytes: integer('resultLimitBytes', given['resultLimitBytes'], resultLimitBytes, LIMITS.bytes),
  };
}

/** @throws InvalidOptionError for what is not an option. */
export function recordOfOptions(
  options: unknown,
  known: Readonly<Record<string, true>>,
): Readonly<Record<string, unknown>> {
  const given = options ?? {};
  if (!isRecord(given)) throw new InvalidOptionError('options', given, 'must be an object of options');
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(known, key)) throw new InvalidOptionError(key, given[key], unknownKeyMend(key, known));
  }
  return given;
}

function integer(field: string, value: unknown, fallback: number, range: Range): number {
  if (value === undefined) return fallback;
  if (!isIntegerIn(value, range)) throw new InvalidOptionError(field, value, rangeMend(range));
  return value;
}
