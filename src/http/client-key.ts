/**
 * What a client named its request by, fit for a key of a job. `@Idempotent()` answers a repeat without coming here,
 * except after a crash between the work and its answer: then only the job can still tell that it was there.
 */
import { createHash } from 'node:crypto';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { Request } from 'express';

/** `undefined`: it has no name. */
export const ClientKey = createParamDecorator((_data: unknown, context: ExecutionContext) =>
  clientKeyOf(context.switchToHttp().getRequest<Request>()),
);

export function clientKeyOf({ headers }: Pick<Request, 'headers'>): string | undefined {
  const key = headers['idempotency-key'];
  if (typeof key !== 'string') return undefined;
  // The same key may come quoted or bare. And the same key from another client is another one.
  const bare = /^"(.*)"$/.exec(key.trim())?.[1]?.replaceAll(/\\(["\\])/g, '$1') ?? key.trim();
  return createHash('sha256')
    .update(JSON.stringify([headers.authorization ?? null, bare]))
    .digest('base64url')
    .slice(0, 32);
}
