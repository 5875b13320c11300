/** The providers of idempotency, for JobQueueModule. */
import { Logger, type Provider } from '@nestjs/common';
import { IdempotencyClaims } from '../idempotency/idempotency-claims.js';
import { IdempotencyEvents } from '../idempotency/idempotency-events.js';
import { IdempotencyService } from '../idempotency/idempotency.service.js';
import { IdempotentInterceptor } from '../idempotency/idempotent.interceptor.js';
import type { ResolvedOptions } from '../options/resolve-options.js';
import type { StoreBackend } from './store-backend.js';
import { RESOLVED_OPTIONS, STORE_BACKEND } from './tokens.js';

export const IDEMPOTENCY_PROVIDERS: Provider[] = [
  {
    provide: IdempotencyEvents,
    inject: [RESOLVED_OPTIONS],
    useFactory: ({ logging }: ResolvedOptions) =>
      new IdempotencyEvents(logging ? new Logger('Fenceline') : undefined),
  },
  {
    provide: IdempotencyClaims,
    inject: [STORE_BACKEND, IdempotencyEvents],
    useFactory: ({ idempotency }: StoreBackend, events: IdempotencyEvents) =>
      new IdempotencyClaims(idempotency, events),
  },
  {
    provide: IdempotencyService,
    inject: [IdempotencyClaims],
    useFactory: (claims: IdempotencyClaims) => new IdempotencyService(claims),
  },
  IdempotentInterceptor,
];

/** `IdempotencyClaims` too: Nest makes the interceptor anew in each module that has a route with `@Idempotent()`. */
export const IDEMPOTENCY_EXPORTS = [
  IdempotencyEvents,
  IdempotencyClaims,
  IdempotencyService,
  IdempotentInterceptor,
];
