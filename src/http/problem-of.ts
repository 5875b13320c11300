/** Finds out which problem an error is, whoever threw it: the library, Nest, Express, or this app. */
import { STATUS_CODES } from 'node:http';
import { HttpException } from '@nestjs/common';
import { IdempotencyProblem } from '@fenceline/nestjs';
import { problemOfLibraryError } from './library-problem.js';
import { OUTAGE_SECONDS, type Problem } from './problem.js';
import { RequestInvalidException } from './request-invalid.exception.js';

/** `undefined` for an error that nobody expected: its message is not for clients. */
export function problemOf(error: unknown): Problem | undefined {
  return problemOfLibraryError(error) ?? (error instanceof HttpException ? problemOfHttp(error) : undefined);
}

/** What Express's body parser says, by the `type` of its error. */
const BODY_PROBLEMS: Readonly<Record<string, { code: string; detail: string }>> = {
  'entity.parse.failed': { code: 'MALFORMED_JSON', detail: 'The request body is not valid JSON.' },
  'entity.too.large': { code: 'BODY_TOO_LARGE', detail: 'The request body is too large.' },
};

function problemOfHttp(error: HttpException): Problem | undefined {
  const status = error.getStatus();
  // Its Retry-After is set already.
  if (error instanceof IdempotencyProblem) return error.problem;
  if (error instanceof RequestInvalidException) {
    return { status, code: 'REQUEST_INVALID', detail: error.message, errors: error.violations };
  }
  const bodyProblem = BODY_PROBLEMS[bodyParserErrorType(error.cause) ?? ''];
  if (bodyProblem) return { status, ...bodyProblem };
  const { errorCode } = error;
  // Of the errors on our side, those that were given a code were also given a message for clients.
  if (status >= 500 && errorCode === undefined) return undefined;
  return {
    status,
    code: errorCode ?? nameOf(status),
    detail: error.message,
    ...(status === 503 && { retryAfter: OUTAGE_SECONDS }),
  };
}

function bodyParserErrorType(cause: unknown): string | undefined {
  return cause instanceof Error && 'type' in cause && typeof cause.type === 'string' ? cause.type : undefined;
}

/** 404 → NOT_FOUND */
function nameOf(status: number): string {
  return (STATUS_CODES[status] ?? 'Error').toUpperCase().replace(/[^A-Z]+/g, '_');
}
