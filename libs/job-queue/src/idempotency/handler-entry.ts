/**
 * Tells whether a controller's method was really entered. Nest runs interceptors before pipes, so an
 * interceptor sees the refusal of a pipe and an error of the handler in the same way; only the method itself
 * knows the difference.
 */
import 'reflect-metadata';
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IdempotencyContext } from './idempotency-claim.js';

export interface HandlerEntry {
  readonly request: unknown;
  readonly context: IdempotencyContext;
  isEntered: boolean;
}

const MARKS_ENTRY = 'fenceline:marks-entry';
const entries = new AsyncLocalStorage<HandlerEntry>();

export function withEntry<T>(entry: HandlerEntry, run: () => T): T {
  return entries.run(entry, run);
}

export function isWithinEntryOf(request: unknown): boolean {
  return entries.getStore()?.request === request;
}

/**
 * Inside of a method with `@Idempotent()`: the fencing token of this run, and the signal that aborts when its
 * claim is lost. `undefined` where there is no claim: no key was given, or the store was down and `failOpen` set.
 */
export function currentIdempotency(): IdempotencyContext | undefined {
  return entries.getStore()?.context;
}

/** The method, with a note of its entry in front. It keeps the metadata that other decorators have left. */
export function markEntry(method: unknown): unknown {
  if (typeof method !== 'function' || marksEntry(method)) return method;
  function marked(this: unknown, ...args: unknown[]): unknown {
    const entry = entries.getStore();
    if (entry) entry.isEntered = true;
    return Reflect.apply(callable, this, args);
  }
  const callable = method;
  for (const property of ['name', 'length'] as const) {
    Object.defineProperty(marked, property, { value: method[property], configurable: true });
  }
  for (const key of Reflect.getOwnMetadataKeys(method)) {
    Reflect.defineMetadata(key, Reflect.getOwnMetadata(key, method), marked);
  }
  Reflect.defineMetadata(MARKS_ENTRY, true, marked);
  return marked;
}

export function marksEntry(method: object): boolean {
  return Reflect.getMetadata(MARKS_ENTRY, method) === true;
}
