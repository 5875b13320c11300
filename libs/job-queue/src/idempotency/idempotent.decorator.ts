/** `@Idempotent()`: puts the interceptor on a route, with its options, and lets the route's method mark its entry. */
import { UseInterceptors } from '@nestjs/common';
import { ConfigurationError } from '../errors/errors.js';
import { resolveIdempotentOptions, type IdempotentOptions } from '../options/idempotent-options.js';
import { markEntry } from './handler-entry.js';
import { IdempotentInterceptor } from './idempotent.interceptor.js';
import { IDEMPOTENT_METADATA } from './idempotent-metadata.js';

/** Where Nest's `@Get()`, `@Post()` … leave the method of a route. */
const ROUTE_METADATA = 'method';

/**
 * Makes a route answer a repeated request, one with the same `Idempotency-Key`, with the answer it gave the
 * first time. On a controller: all of its routes except GET, HEAD and OPTIONS, which have nothing to repeat;
 * a method's own options go on top of the controller's.
 * @throws ConfigurationError when an option cannot work
 */
export function Idempotent(options: IdempotentOptions = {}): ClassDecorator & MethodDecorator {
  resolveIdempotentOptions(options);
  return (target: object, name?: string | symbol, descriptor?: PropertyDescriptor): void => {
    if (name === undefined) {
      if (typeof target !== 'function') throw misplaced(target);
      for (const method of routesOf(target)) redefine(target, method);
      Reflect.defineMetadata(IDEMPOTENT_METADATA, options, target);
      UseInterceptors(IdempotentInterceptor)(target);
      return;
    }
    const method: unknown = descriptor?.value;
    if (!descriptor || typeof method !== 'function') throw misplaced(name);
    const marked = markEntry(method);
    if (typeof marked !== 'function') throw misplaced(name);
    descriptor.value = marked;
    Reflect.defineMetadata(IDEMPOTENT_METADATA, options, marked);
    UseInterceptors(IdempotentInterceptor)(target, name, descriptor);
  };
}

/** An extractor of the key: the property of the body with this name. */
export function bodyField(name: string): (request: { readonly body?: unknown }) => unknown {
  return ({ body }) =>
    typeof body === 'object' && body !== null && Object.hasOwn(body, name)
      ? Reflect.get(body, name)
      : undefined;
}

/** Also what it inherits: Nest makes routes of that too. */
function routesOf(controller: object): ReadonlyMap<string, PropertyDescriptor> {
  const routes = new Map<string, PropertyDescriptor>();
  let prototype: unknown = Reflect.get(controller, 'prototype');
  while (typeof prototype === 'object' && prototype !== null && prototype !== Object.prototype) {
    for (const [name, descriptor] of Object.entries(Object.getOwnPropertyDescriptors(prototype))) {
      const method: unknown = descriptor.value;
      if (typeof method !== 'function' || routes.has(name)) continue;
      if (Reflect.hasMetadata(ROUTE_METADATA, method)) routes.set(name, descriptor);
    }
    prototype = Object.getPrototypeOf(prototype);
  }
  return routes;
}

function redefine(controller: object, [name, descriptor]: readonly [string, PropertyDescriptor]): void {
  const prototype: unknown = Reflect.get(controller, 'prototype');
  if (typeof prototype !== 'object' || prototype === null) return;
  Object.defineProperty(prototype, name, { ...descriptor, value: markEntry(descriptor.value) });
}

function misplaced(received: unknown): ConfigurationError {
  return new ConfigurationError('@Idempotent', received, 'belongs on a controller or on one of its methods');
}
