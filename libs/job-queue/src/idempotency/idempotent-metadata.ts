/** Where `@Idempotent()` leaves its options, and how those of a controller and of its method become one. */
import type { ExecutionContext } from '@nestjs/common';
import { ConfigurationError } from '../errors/errors.js';
import {
  resolveIdempotentOptions,
  type IdempotentOptions,
  type ResolvedIdempotentOptions,
} from '../options/idempotent-options.js';
import { marksEntry } from './handler-entry.js';

export const IDEMPOTENT_METADATA = 'fenceline:idempotent';
/** Where Nest's `@Res()` and its kin leave what a method takes: `<kind>:<index>`, and whether Nest answers all the same. */
const ROUTE_ARGUMENTS_METADATA = '__routeArguments__';
const PASSTHROUGH_METADATA = '__responsePassthrough__';
const RESPONSE_OR_NEXT = /^[12]:/;

const resolved = new WeakMap<object, WeakMap<object, ResolvedIdempotentOptions>>();

/**
 * `undefined`: the route has no `@Idempotent()`, and the interceptor came to it some other way.
 * @throws ConfigurationError when the method would not tell that it was entered
 */
export function idempotentOptionsOf(context: ExecutionContext): ResolvedIdempotentOptions | undefined {
  const [controller, method] = [context.getClass(), context.getHandler()];
  const known = resolved.get(controller)?.get(method);
  if (known) return known;
  const given = [optionsAt(controller), optionsAt(method)];
  if (given.every((options) => options === undefined)) return undefined;
  if (!marksEntry(method)) {
    const mend =
      'overrides a method of a controller with @Idempotent(), and needs an @Idempotent() of its own';
    throw new ConfigurationError(`${controller.name}.${method.name}`, method, mend);
  }
  const options = resolveIdempotentOptions({ ...given[0], ...given[1] });
  const ofController = resolved.get(controller) ?? new WeakMap<object, ResolvedIdempotentOptions>();
  resolved.set(controller, ofController.set(method, options));
  return options;
}

function optionsAt(target: object): IdempotentOptions | undefined {
  return Reflect.getMetadata(IDEMPOTENT_METADATA, target) as IdempotentOptions | undefined;
}

/** Whether the method answers by itself, with `@Res()` or `@Next()`. Nest sends nothing then, not even a replay. */
export function takesResponse(context: ExecutionContext): boolean {
  const [controller, { name }] = [context.getClass(), context.getHandler()];
  const taken: unknown = Reflect.getMetadata(ROUTE_ARGUMENTS_METADATA, controller, name);
  if (typeof taken !== 'object' || taken === null) return false;
  if (!Object.keys(taken).some((argument) => RESPONSE_OR_NEXT.test(argument))) return false;
  return Reflect.getMetadata(PASSTHROUGH_METADATA, controller, name) !== true;
}
