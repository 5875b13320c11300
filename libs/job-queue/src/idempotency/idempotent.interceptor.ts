/** Answers a repeated HTTP request with the first one's answer. `@Idempotent()` puts it on a route. */
import { Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { defer, of, tap, type Observable } from 'rxjs';
import { ConfigurationError, IncompatibleStoreError, StoreUnavailableError } from '../errors/errors.js';
import { IdempotencyBusyError } from '../errors/idempotency-errors.js';
import { IdempotencyConflictError } from '../errors/key-errors.js';
import { INTERNAL } from '../options/defaults.js';
import type { IdempotentRequest, ResolvedIdempotentOptions } from '../options/idempotent-options.js';
import { isWithinEntryOf, withEntry, type HandlerEntry } from './handler-entry.js';
import { bodyValue, readAnswer, type Answer } from './http-answer.js';
import { readOperation, type HttpOperation } from './http-operation.js';
import type { IdempotencyClaim } from './idempotency-claim.js';
import { IdempotencyClaims, type Opening } from './idempotency-claims.js';
import { IdempotencyProblem, idempotencyProblem } from './idempotency-problem.js';
import { IdempotentExchange } from './idempotent-exchange.js';
import { idempotentOptionsOf, takesResponse } from './idempotent-metadata.js';
import {
  FastifyReplyGate,
  NodeResponseGate,
  type FastifyReply,
  type GateKeeper,
  type NodeResponse,
  type ResponseGate,
} from './response-gate.js';

/** They change nothing, so repeating them repeats nothing (RFC 9110, 9.2.1). */
const SAFE_METHODS = new Set(['GET', 'HEAD', 'OPTIONS', 'TRACE']);

type HttpResponse = NodeResponse | FastifyReply;

@Injectable()
export class IdempotentInterceptor implements NestInterceptor {
  constructor(
    private readonly claims: IdempotencyClaims,
    private readonly adapterHost: HttpAdapterHost,
  ) {}

  async intercept(context: ExecutionContext, next: CallHandler): Promise<Observable<unknown>> {
    const http = context.switchToHttp();
    const request = http.getRequest<IdempotentRequest>();
    // A controller and its method may both be decorated: then the second of us has nothing to do.
    if (context.getType() !== 'http' || SAFE_METHODS.has(request.method) || isWithinEntryOf(request)) {
      return next.handle();
    }
    const response = http.getResponse<HttpResponse>();
    try {
      const options = idempotentOptionsOf(context);
      if (!options) return next.handle();
      const fallbackRoute = `${context.getClass().name}.${context.getHandler().name}`;
      const operation = await readOperation(request, fallbackRoute, options);
      const opening = operation && (await this.open(operation, options, rawOf(response)));
      if (!opening) return next.handle();
      if (opening.kind === 'replay') return this.replay(opening.result, context, options);
      return this.runFirst(opening.claim, request, response, options, next);
    } catch (error) {
      if (error instanceof IdempotencyProblem) {
        const { httpAdapter } = this.adapterHost;
        for (const [name, value] of Object.entries(error.headers))
          httpAdapter.setHeader(response, name, value);
      }
      throw error;
    }
  }

  /** `undefined`: the store is down, and the handler shall run all the same. */
  private async open(
    { key, fingerprint }: HttpOperation,
    { leaseMs, waitMs, failOpen }: ResolvedIdempotentOptions,
    raw: NodeResponse,
  ): Promise<Opening | undefined> {
    const retryAfterMs = INTERNAL.idempotencyRetryAfterMs;
    // Nobody is waiting any more once the client has hung up, or an interceptor further out has answered.
    const over = new AbortController();
    for (const event of ['finish', 'close'] as const) raw.once(event, () => over.abort());
    let opening: Opening;
    try {
      opening = await this.claims.open(key, { fingerprint, leaseMs, waitMs, signal: over.signal });
    } catch (error) {
      if (error instanceof IdempotencyConflictError) throw idempotencyProblem('conflict', { cause: error });
      if (over.signal.aborted) throw idempotencyProblem('busy', { cause: error, retryAfterMs });
      if (error instanceof IdempotencyBusyError) {
        throw idempotencyProblem('busy', { cause: error, retryAfterMs: error.retryAfterMs });
      }
      if (!(error instanceof StoreUnavailableError || error instanceof IncompatibleStoreError)) throw error;
      if (!failOpen) throw idempotencyProblem('store_unavailable', { cause: error, retryAfterMs });
      this.claims.events.emit({ event: 'failed_open', key, reason: error.message });
      return undefined;
    }
    // Nothing would end this claim any more: the handler may never be run, and no answer comes by.
    if (opening.kind === 'started' && (over.signal.aborted || raw.writableEnded || raw.destroyed)) {
      await opening.claim.release();
      throw idempotencyProblem('busy', { retryAfterMs });
    }
    return opening;
  }

  private runFirst(
    claim: IdempotencyClaim,
    request: IdempotentRequest,
    response: HttpResponse,
    options: ResolvedIdempotentOptions,
    next: CallHandler,
  ): Observable<unknown> {
    const { fencingToken, signal } = claim;
    const entry: HandlerEntry = { request, context: { fencingToken, signal }, isEntered: false };
    const exchange = new IdempotentExchange(claim, entry, options);
    const { raw } = gateOf(response, options, exchange);
    exchange.watch(raw);
    // What `handle()` returns runs in the context in which it was called.
    const handled = withEntry(entry, () => next.handle());
    return defer(() => {
      if (!exchange.handlerBegins()) {
        throw idempotencyProblem('busy', { retryAfterMs: INTERNAL.idempotencyRetryAfterMs });
      }
      return handled.pipe(
        tap({
          complete: () => exchange.handlerEnded('completed', raw),
          error: () => exchange.handlerEnded('failed', raw),
          unsubscribe: () => exchange.handlerEnded('cancelled', raw),
        }),
      );
    });
  }

  /** The handler does not run; interceptors further out do, but they cannot change what is sent. */
  private replay(
    result: string,
    context: ExecutionContext,
    options: ResolvedIdempotentOptions,
  ): Observable<unknown> {
    const stored = readAnswer(result);
    if (stored.kind === 'unreplayable') {
      const { status: originalStatus } = stored;
      throw idempotencyProblem('unreplayable', originalStatus === undefined ? {} : { originalStatus });
    }
    const answer: Answer = {
      ...stored.answer,
      headers: { ...stored.answer.headers, 'idempotent-replayed': 'true' },
    };
    const response = context.switchToHttp().getResponse<HttpResponse>();
    const gate = gateOf(response, options, { onAnswer: async () => answer, onStream: async () => {} });
    if (takesResponse(context)) setImmediate(() => gate.flush());
    return of(bodyValue(answer));
  }
}

function gateOf(
  response: HttpResponse,
  { headers }: ResolvedIdempotentOptions,
  keeper: GateKeeper,
): ResponseGate {
  return isFastifyReply(response)
    ? new FastifyReplyGate(response, headers, keeper)
    : new NodeResponseGate(response, headers, keeper);
}

function rawOf(response: HttpResponse): NodeResponse {
  if (isFastifyReply(response)) return response.raw;
  if (typeof response.end === 'function' && typeof response.write === 'function') return response;
  const mend = 'works with the Express and the Fastify adapter only';
  throw new ConfigurationError('@Idempotent', undefined, mend);
}

function isFastifyReply(response: HttpResponse): response is FastifyReply {
  return 'raw' in response && 'send' in response;
}
