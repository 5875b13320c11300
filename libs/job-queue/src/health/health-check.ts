/** What the health indicators share: thresholds, verdicts, and an answer in time whatever the store does. */
import type { HealthIndicatorResult, HealthIndicatorService } from '@nestjs/terminus';
import { ConfigurationError, StoreUnavailableError } from '../errors/errors.js';
import { INTERNAL } from '../options/defaults.js';
import { optionalRecord, refuseUnknownKeys } from '../options/option-checks.js';

export type Verdict = 'up' | 'degraded' | 'down';

export interface Finding {
  readonly verdict: Verdict;
  /** Why it is not simply up. */
  readonly reasons: readonly string[];
  /** Shown with the result. */
  readonly data: Readonly<Record<string, unknown>>;
}

/** One figure that is too high from a threshold on. */
export interface Measurement {
  /** What it is, for the reason: `queue "jobs" has 7 dead jobs`. */
  readonly text: string;
  readonly value: number;
  readonly degradedFrom: number;
  readonly downFrom: number;
}

/** Reaching a threshold counts as passing it. */
export function judge(measurements: readonly Measurement[]): Omit<Finding, 'data'> {
  const verdicts = measurements.map(({ value, degradedFrom, downFrom }): Verdict => {
    if (value >= downFrom) return 'down';
    return value >= degradedFrom ? 'degraded' : 'up';
  });
  const reasons = measurements.flatMap(({ text, degradedFrom, downFrom }, index) => {
    if (verdicts[index] === 'up') return [];
    const [kind, threshold] = verdicts[index] === 'down' ? ['down', downFrom] : ['degraded', degradedFrom];
    return [`${text} (${kind} from ${threshold})`];
  });
  const verdict = (['down', 'degraded'] as const).find((worst) => verdicts.includes(worst)) ?? 'up';
  return { verdict, reasons };
}

/**
 * Runs a check and answers within the time limit, always: a check that hangs would make the platform kill
 * a process whose only problem is its store.
 */
export async function answerInTime<const Key extends string>(
  health: HealthIndicatorService,
  key: Key,
  check: () => Finding | Promise<Finding>,
): Promise<HealthIndicatorResult<Key>> {
  const session = health.check(key);
  const { verdict, reasons, data } = await findInTime(check);
  const details = { ...data, ...(reasons.length > 0 && { message: reasons.join('; ') }) };
  if (verdict === 'down') return session.down(details);
  if (verdict === 'up') return session.up(details);
  // Terminus 11 knows only up and down, and an impaired queue is no reason to take the process out of service.
  return typeof session.degraded === 'function'
    ? session.degraded(details)
    : session.up({ ...details, degraded: true });
}

async function findInTime(check: () => Finding | Promise<Finding>): Promise<Finding> {
  const limitMs = INTERNAL.healthTimeoutMs;
  let timer: NodeJS.Timeout | undefined;
  const timeout = new Promise<Finding>((resolve) => {
    timer = setTimeout(() => resolve(downBecause(`the store did not answer within ${limitMs} ms`)), limitMs);
  });
  // In a function of its own, so that what the check throws at once is a rejection like any other.
  const found = (async () => check())();
  try {
    // The race stays subscribed to its loser: a rejection after the timeout is not an unhandled one.
    return await Promise.race([found, timeout]);
  } catch (error) {
    return downBecause(reasonOf(error));
  } finally {
    clearTimeout(timer);
  }
}

/** Health routes are often open to all, and why a store is not available names hosts and users of the network. */
function reasonOf(error: unknown): string {
  if (error instanceof StoreUnavailableError) return 'the job store is not available';
  return error instanceof Error ? error.message : String(error);
}

function downBecause(reason: string): Finding {
  return { verdict: 'down', reasons: [reason], data: {} };
}

/** Reads thresholds, all numbers from 0 to Infinity, which turns one off. `known` also names the check's other options. */
export function thresholds<K extends string>(
  options: unknown,
  known: Readonly<Record<string, true>>,
  defaults: Readonly<Record<K, number>>,
): Readonly<Record<K, number>> {
  const given = optionalRecord('options', options);
  refuseUnknownKeys('', given, known);
  const merged: Record<K, number> = { ...defaults };
  for (const key in defaults) {
    const value = given[key];
    if (value === undefined) continue;
    if (typeof value !== 'number' || !(value >= 0)) {
      throw new ConfigurationError(key, value, 'must be a number of at least 0; Infinity turns it off');
    }
    merged[key] = value;
  }
  return merged;
}
