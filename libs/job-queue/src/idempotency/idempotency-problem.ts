/** The answers of `@Idempotent()` itself, as application/problem+json (RFC 9457). */
import { HttpException } from '@nestjs/common';

const HEADER = 'Idempotency-Key';

/** `retry`: the same request may succeed a little later. */
const PROBLEMS = {
  key_missing: {
    status: 400,
    title: `${HEADER} is missing`,
    detail: `This operation needs the header ${HEADER}, or the field that stands for it.`,
  },
  key_malformed: {
    status: 400,
    title: `${HEADER} is malformed`,
    detail: 'The key must be one string of visible ASCII characters, such as a UUID, with or without quotes.',
  },
  key_too_long: {
    status: 400,
    title: `${HEADER} is too long`,
    detail: 'The key may have at most 255 characters.',
  },
  body_incomparable: {
    status: 400,
    title: 'The request cannot be compared',
    detail: 'The body is nested too deeply.',
  },
  conflict: {
    status: 422,
    title: `${HEADER} was used for another request`,
    detail:
      'A request with this key and other contents was accepted before. Use a new key for a new request.',
  },
  busy: {
    status: 409,
    title: 'The request is still running',
    detail: 'A request with this key is being processed. Repeat it later to get its answer.',
  },
  lost: {
    status: 409,
    title: 'The answer does not count',
    detail:
      'Processing took too long or was interrupted, and a repeat of the request has taken over. ' +
      'Repeat it with the same key to get the answer that counts.',
  },
  unreplayable: {
    status: 409,
    title: 'The answer cannot be given again',
    detail: 'The request with this key was carried out; its answer was too large to be kept, or streamed.',
  },
  store_unavailable: {
    status: 503,
    title: 'The request cannot be protected now',
    detail:
      'It cannot be told whether the request was carried out before. Nothing was done; repeat it later.',
  },
} as const satisfies Record<string, { status: number; title: string; detail: string }>;

export type IdempotencyProblemKind = keyof typeof PROBLEMS;

export interface ProblemDetails {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail: string;
  /** Stable, for programs. */
  readonly code: string;
  /** `unreplayable` only: the status of the first answer. */
  readonly originalStatus?: number;
}

/** Thrown by the interceptor: an app's exception filters may give it another form. */
export class IdempotencyProblem extends HttpException {
  constructor(
    readonly kind: IdempotencyProblemKind,
    readonly problem: ProblemDetails,
    /** Response headers that belong to it. */
    readonly headers: Readonly<Record<string, string>>,
    options?: { readonly cause?: unknown },
  ) {
    super(problem, problem.status, options);
  }
}

export interface ProblemExtras {
  readonly retryAfterMs?: number;
  readonly originalStatus?: number;
  readonly cause?: unknown;
}

export function idempotencyProblem(
  kind: IdempotencyProblemKind,
  { retryAfterMs, originalStatus, cause }: ProblemExtras = {},
): IdempotencyProblem {
  const { title, status, detail } = PROBLEMS[kind];
  const problem = {
    type: `urn:fenceline:problem:idempotency-${kind.replaceAll('_', '-')}`,
    title,
    status,
    detail,
    code: `IDEMPOTENCY_${kind.toUpperCase()}`,
    ...(originalStatus !== undefined && { originalStatus }),
  };
  const headers = {
    'Content-Type': 'application/problem+json; charset=utf-8',
    ...(retryAfterMs !== undefined && { 'Retry-After': `${Math.max(1, Math.ceil(retryAfterMs / 1_000))}` }),
  };
  return new IdempotencyProblem(kind, problem, headers, { cause });
}
