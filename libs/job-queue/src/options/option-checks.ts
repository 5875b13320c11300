/** The checks that all option resolvers share: each names the option, shows the value and says what would work. */
import { ConfigurationError, InvalidOptionError } from '../errors/errors.js';
import type { Backoff } from '../job/backoff.js';

export interface Range {
  readonly min: number;
  readonly max: number;
  /** Appended to the message: why the limit is there, where that is not obvious. */
  readonly why?: string;
}

const TEN_YEARS_MS = 10 * 365 * 24 * 60 * 60 * 1_000;
/** The longest delay a Node timer can hold; a longer one fires at once. */
const LONGEST_TIMER_MS = 2 ** 31 - 1;

/** What each number may be. Defaults are in defaults.ts. */
export const LIMITS = {
  prefixLength: 32,
  timer: { min: 1, max: LONGEST_TIMER_MS },
  timerOrNone: { min: 0, max: LONGEST_TIMER_MS },
  delay: { min: 0, max: TEN_YEARS_MS },
  lease: {
    min: 100,
    max: LONGEST_TIMER_MS,
    why: 'a shorter lease is lost to any garbage collection or slow reply; 100 is for tests, production wants seconds',
  },
  keyTime: { min: 1, max: TEN_YEARS_MS },
  concurrency: { min: 1, max: 10_000 },
  /** More do not spread better: 256 parts share 16 nodes within a few percent. */
  partitions: { min: 1, max: 256 },
  maxAttempts: { min: 1, max: 1_000 },
  priority: { min: 0, max: 9, why: '0 runs first' },
  /** Redis holds at most 512 MiB in one string, and the spec around a payload takes some of it. */
  bytes: { min: 1, max: 256 * 1024 * 1024 },
  maintenanceInterval: { min: 1_000, max: LONGEST_TIMER_MS, why: 'maintenance ticks once a second' },
  lockNameLength: 256,
  idempotencyKeyLength: 255,
  retentionCount: { min: 0, max: 1_000_000_000 },
} as const satisfies Record<string, Range | number>;

/** The names of an interface's options. Typed by it: an option that is added there and forgotten here does not compile. */
export type Keys<T> = Readonly<Record<keyof T, true>>;

export const BACKOFF_KEYS: Keys<Backoff> = {
  baseDelayMs: true,
  maxDelayMs: true,
  jitter: true,
};
export const JITTERS: readonly Backoff['jitter'][] = ['full', 'none'];

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An object of options; one that was left out counts as empty. */
export function optionalRecord(field: string, value: unknown): Readonly<Record<string, unknown>> {
  if (value === undefined) return {};
  if (!isRecord(value)) throw new ConfigurationError(field, value, 'must be an object of options');
  return value;
}

export function integerOption(field: string, value: unknown, fallback: number, range: Range): number {
  if (value === undefined) return fallback;
  if (!isIntegerIn(value, range)) throw new ConfigurationError(field, value, rangeMend(range));
  return value;
}

export function isIntegerIn(value: unknown, range: Range): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= range.min && value <= range.max;
}

export function rangeMend({ min, max, why }: Range): string {
  return `must be an integer from ${min} to ${max}${why === undefined ? '' : `: ${why}`}`;
}

export function booleanOption(field: string, value: unknown, fallback: boolean): boolean {
  if (value === undefined) return fallback;
  if (typeof value !== 'boolean') throw new ConfigurationError(field, value, 'must be true or false');
  return value;
}

export function choiceOption<C extends string | boolean>(
  field: string,
  value: unknown,
  fallback: C,
  choices: readonly C[],
): C {
  if (value === undefined) return fallback;
  const chosen = choices.find((choice) => choice === value);
  if (chosen === undefined) {
    const list = choices.map((choice) => (typeof choice === 'string' ? `'${choice}'` : String(choice)));
    throw new ConfigurationError(field, value, `must be one of ${list.join(', ')}`);
  }
  return chosen;
}

/**
 * Refuses keys that mean nothing, which are almost always typing errors: ignoring one would hide that it
 * has no effect. `prefix` stands in front of the key in the error's field, dot included.
 */
export function refuseUnknownKeys(
  prefix: string,
  given: Readonly<Record<string, unknown>>,
  known: Readonly<Record<string, true>>,
): void {
  for (const key of Object.keys(given)) {
    if (!Object.hasOwn(known, key)) {
      throw new ConfigurationError(`${prefix}${key}`, given[key], unknownKeyMend(key, known));
    }
  }
}

export function unknownKeyMend(key: string, known: Readonly<Record<string, true>>): string {
  const names = Object.keys(known);
  const closest = closestName(key, names);
  return closest === undefined
    ? `is not an option here; there are: ${names.join(', ')}`
    : `is not an option here, did you mean ${closest}?`;
}

/** Applies one of the checks of job/names.ts and turns its complaint into one about the configuration. */
export function nameOption(
  field: string,
  value: unknown,
  check: (field: string, value: unknown) => asserts value is string,
): string {
  try {
    check(field, value);
    return value;
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error;
    throw new ConfigurationError(error.field, error.received, error.mend);
  }
}

function closestName(key: string, names: readonly string[]): string | undefined {
  const wanted = key.toLowerCase();
  const tolerance = Math.max(2, Math.floor(key.length / 3));
  let best: string | undefined;
  let bestDistance = Infinity;
  for (const name of names) {
    const candidate = name.toLowerCase();
    // "attempts" is many edits away from "maxAttempts", and still clearly meant.
    const contained = wanted.length > 1 && (candidate.includes(wanted) || wanted.includes(candidate));
    const edits = levenshtein(wanted, candidate);
    if ((contained || edits <= tolerance) && edits < bestDistance) {
      best = name;
      bestDistance = edits;
    }
  }
  return best;
}

function levenshtein(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replace = at(previous, column - 1) + (a[row - 1] === b[column - 1] ? 0 : 1);
      current.push(Math.min(replace, at(previous, column) + 1, at(current, column - 1) + 1));
    }
    previous = current;
  }
  return at(previous, b.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Infinity;
}

/**
 * Accepts a text of 1 to `longest` characters that survives its way through UTF-8.
 * @throws InvalidOptionError naming `field`.
 */
export function checkText(field: string, value: unknown, longest: number): asserts value is string {
  if (typeof value !== 'string' || value.length === 0 || value.length > longest) {
    throw new InvalidOptionError(field, value, `must be a string of 1 to ${longest} characters`);
  }
  if (!value.isWellFormed()) throw new InvalidOptionError(field, value, 'must not contain lone surrogates');
}
