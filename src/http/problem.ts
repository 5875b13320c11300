/** What an HTTP client sees of an error: RFC 9457 `application/problem+json`, built in one place. */
import { STATUS_CODES } from 'node:http';
import type { FieldViolation } from '@fenceline/nestjs';

export interface Problem {
  readonly status: number;
  /** Stable, machine-readable name of the problem. */
  readonly code: string;
  /** For people. */
  readonly detail: string;
  /** The rejected fields, when that is what is wrong. */
  readonly errors?: readonly FieldViolation[];
  /** The job that the request was about, or that stands in its way, when the client needs its id to go on. */
  readonly jobId?: string;
  /** What the first request with the same key was answered with, when the answer itself was not kept. */
  readonly originalStatus?: number;
  /** Seconds after which trying again makes sense. */
  readonly retryAfter?: number;
}

/** `retryAfter` when something is down, and when somebody else is just at it. */
export const OUTAGE_SECONDS = 5;
export const BUSY_SECONDS = 1;

export const UNEXPECTED: Problem = {
  status: 500,
  code: 'INTERNAL',
  detail: 'Something went wrong on our side. The log of the server says what.',
};

export function problemBody(problem: Problem, instance: string): Record<string, unknown> {
  const { status, code, detail, errors, jobId, originalStatus } = problem;
  return {
    type: `urn:fenceline:problem:${code.toLowerCase().replaceAll('_', '-')}`,
    title: STATUS_CODES[status] ?? 'Error',
    status,
    code,
    detail,
    instance,
    ...(errors && { errors }),
    ...(jobId !== undefined && { jobId }),
    ...(originalStatus !== undefined && { originalStatus }),
  };
}
