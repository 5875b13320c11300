/** Checks what callers give LockService: names and options. */
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

export interface TryAcquireOptions {
  /**
   * How long the lock stays taken after its holder stops renewing it, ms: what a crash costs. The lease renews
   * itself every third of it.
   * Danger: shorter than the longest pause of your process (event loop, GC, laptop lid) loses the lock midway.
   */
  readonly ttlMs?: number;
}

export interface LockOptions extends TryAcquireOptions {
  /** How long to wait for the lock, ms; then `LockTimeoutError`. 0: not at all. */
  readonly waitMs?: number;
  /** Ends the waiting. Once the lock is held it has no effect: the lease has a signal of its own. */
  readonly signal?: AbortSignal;
}

export interface ResolvedLockOptions {
  readonly ttlMs: number;
  readonly waitMs: number;
  readonly signal: AbortSignal | undefined;
}

const TRY_KEYS: Keys<TryAcquireOptions> = { ttlMs: true };
const KEYS: Keys<LockOptions> = { ...TRY_KEYS, waitMs: true, signal: true };

/** @throws InvalidOptionError naming `field` when it cannot name a lock or a fenced value. */
export function checkLockName(field: string, name: unknown): asserts name is string {
  checkText(field, name, LIMITS.lockNameLength);
}

/** @throws InvalidOptionError naming the first option that cannot work. */
export function resolveLockOptions(options: unknown): ResolvedLockOptions {
  return resolve(options, KEYS);
}

/** @throws InvalidOptionError naming the first option that cannot work. */
export function resolveTryAcquireOptions(options: unknown): ResolvedLockOptions {
  return { ...resolve(options, TRY_KEYS), waitMs: 0 };
}

function resolve(options: unknown, known: Readonly<Record<string, true>>): ResolvedLockOptions {
  const given = options ?? {};
  if (!isRecord(given)) throw new InvalidOptionError('options', given, 'must be an object of lock options');
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(known, key)) throw new InvalidOptionError(key, given[key], unknownKeyMend(key, known));
  }
  const { signal } = given;
  if (signal !== undefined && !(signal instanceof AbortSignal)) {
    throw new InvalidOptionError('signal', signal, 'must be an AbortSignal');
  }
  return {
    ttlMs: integer('ttlMs', given.ttlMs, DEFAULTS.lock.ttlMs, LIMITS.lease),
    waitMs: integer('waitMs', given.waitMs, DEFAULTS.lock.waitMs, LIMITS.timerOrNone),
    signal,
  };
}

function integer(field: string, value: unknown, fallback: number, range: Range): number {
  if (value === undefined) return fallback;
  if (!isIntegerIn(value, range)) throw new InvalidOptionError(field, value, rangeMend(range));
  return value;
}
