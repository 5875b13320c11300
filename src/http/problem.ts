/** What an HTTP client sees of an error: RFC 9457 `application/problem+json`, built in one place. */
import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import {
  EnqueueRefusedError,
  EnqueueUnknownError,
  type FieldViolation,
  IllegalTransitionError,
  InvalidOptionError,
  JobNotFoundError,
  PayloadTooLargeError,
  PayloadValidationError,
  StoreUnavailableError,
} from '@fenceline/nestjs';
import { RequestInvalidException } from './request-invalid.exception.js';

export interface Problem {
  readonly status: number;
  /** Stable, machine-readable name of the problem. */
  readonly code: string;
  /** For people. */
  readonly detail: string;
  /** The rejected fields, when that is what is wrong. */
  readonly errors?: readonly FieldViolation[];
  /** The job that the request was about, when the client needs its id to go on. */
  readonly jobId?: string;
  /** Seconds after which trying again makes sense. */
  readonly retryAfter?: number;
}

const RETRY_AFTER_SECONDS = 5;

/** `undefined` for an error that nobody expected: its message is not for clients. */
export function problemOf(error: unknown): Problem | undefined {
  return problemOfLibraryError(error) ?? (error instanceof HttpException ? problemOfHttp(error) : undefined);
}

export const UNEXPECTED: Problem = {
  status: 500,
  code: 'INTERNAL',
  detail: 'Something went wrong on our side. The log of the server says what.',
};

export function problemBody(problem: Problem, instance: string): Record<string, unknown> {
  const { status, code, detail, errors, jobId } = problem;
  return {
    type: `urn:fenceline:problem:${code.toLowerCase().replaceAll('_', '-')}`,
    title: STATUS_CODES[status] ?? 'Error',
    status,
    code,
    detail,
    instance,
    ...(errors && { errors }),
    ...(jobId !== undefined && { jobId }),
  };
}

function problemOfLibraryError(error: unknown): Problem | undefined {
  if (error instanceof PayloadValidationError) {
    return { status: 400, code: error.code, detail: 'The payload is not valid.', errors: error.violations };
  }
  // Its subclass ConfigurationError is our own mistake, not the client's.
  if (error instanceof InvalidOptionError && error.code === 'INVALID_OPTION') {
    const violation = { path: error.field, messages: [error.mend] };
    return { status: 400, code: error.code, detail: error.message, errors: [violation] };
  }
  if (error instanceof PayloadTooLargeError) {
    return { status: 413, code: error.code, detail: error.message };
  }
  if (error instanceof JobNotFoundError) {
    return { status: 404, code: error.code, detail: error.message };
  }
  if (error instanceof IllegalTransitionError) {
    return { status: 409, code: error.code, detail: error.message };
  }
  // The messages of the next three may name hosts and ports of our network.
  if (error instanceof EnqueueRefusedError) {
    const detail = 'The job was not accepted and nothing was stored. Try again later.';
    return { status: 503, code: error.code, detail, retryAfter: RETRY_AFTER_SECONDS };
  }
  if (error instanceof EnqueueUnknownError) {
    const detail =
      'The connection to the job store broke before it answered, so the job may or may not be stored. ' +
      'Send the same request again with this jobId to be sure; it will not become two jobs.';
    return { status: 503, code: error.code, detail, jobId: error.jobId, retryAfter: RETRY_AFTER_SECONDS };
  }
  if (error instanceof StoreUnavailableError) {
    const detail = 'The job store is not available at the moment. Try again later.';
    return { status: 503, code: error.code, detail, retryAfter: RETRY_AFTER_SECONDS };
  }
  return undefined;
}

/** What Express's body parser says, by the `type` of its error. */
const BODY_PROBLEMS: Readonly<Record<string, { code: string; detail: string }>> = {
  'entity.parse.failed': { code: 'MALFORMED_JSON', detail: 'The request body is not valid JSON.' },
  'entity.too.large': { code: 'BODY_TOO_LARGE', detail: 'The request body is too large.' },
};

function problemOfHttp(error: HttpException): Problem | undefined {
  const status = error.getStatus();
  if (status >= 500) return undefined;
  if (error instanceof RequestInvalidException) {
    return { status, code: 'REQUEST_INVALID', detail: error.message, errors: error.violations };
  }
  const bodyProblem = BODY_PROBLEMS[bodyParserErrorType(error.cause) ?? ''];
  if (bodyProblem) return { status, ...bodyProblem };
  return { status, code: error.errorCode ?? nameOf(status), detail: error.message };
}

function bodyParserErrorType(cause: unknown): string | undefined {
  return cause instanceof Error && 'type' in cause && typeof cause.type === 'string' ? cause.type : undefined;
}

/** 404 → NOT_FOUND */
function nameOf(status: number): string {
  return (STATUS_CODES[status] ?? 'Error').toUpperCase().replace(/[^A-Z]+/g, '_');
}
