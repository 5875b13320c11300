/** What is kept of an attempt's error: small, readable on one screen, and never itself a cause of failure. */
import { inspect, stripVTControlCharacters } from 'node:util';
import { INTERNAL } from '../options/defaults.js';
import type { JobError } from './job.js';

/** Name given to what was thrown without being an error. */
const NON_ERROR = 'NonError';
const UNREADABLE = '(cannot be read)';
// All of them would garble logs and terminals: the line separators break "one line per event", and the marks of
// writing direction show a text in another order than it has.
const CONTROL =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0009\u000b-\u001f\u007f-\u009f\u2028-\u202e\u2066-\u2069]/g;
const LINE_BREAKS = /[\s\u0085]*[\n\r\u0085\u2028\u2029][\s\u0085]*/g;

/** JSON text of a `JobError`. Never throws and is never empty, whatever was thrown. */
export function serializeError(error: unknown): string {
  return JSON.stringify(toJobError(error));
}

/** Never throws: a handler's error may be anything, also something built to be hostile. */
export function toJobError(error: unknown): JobError {
  try {
    return describe(error, new Set());
  } catch {
    // A proxy whose traps throw, a stack that is used up.
    return { name: NON_ERROR, message: UNREADABLE };
  }
}

/** The inverse. Text that is no error of ours (edited by hand, damaged) becomes an error that says so. */
export function parseError(text: string): JobError {
  try {
    const parsed: unknown = JSON.parse(text);
    if (isObject(parsed)) return readJobError(parsed, 0);
  } catch {
    // Falls through: not JSON.
  }
  return {
    name: 'UnreadableError',
    message: tidy(`the stored error is not readable: ${text}`, INTERNAL.errorMessageLimit),
  };
}

function describe(error: unknown, seen: Set<object>): JobError {
  if (!isObject(error) || !(error instanceof Error || typeof read(error, 'message') === 'string')) {
    return { name: NON_ERROR, message: describeValue(error) };
  }
  seen.add(error);
  const message = textOf(read(error, 'message'));
  const shortMessage = tidy(message, INTERNAL.errorMessageLimit);
  const code = read(error, 'code');
  const stack = read(error, 'stack');
  const cause = causeOf(error);
  return {
    name: nameOf(error),
    message: shortMessage,
    ...(isCode(code) && { code: tidy(String(code), INTERNAL.errorMessageLimit) }),
    ...(typeof stack === 'string' && { stack: tidyStack(stack, message, shortMessage) }),
    ...(mayFollow(cause, seen) && { cause: describe(cause, seen) }),
  };
}

/** `seen` holds the error and the causes so far. */
function mayFollow(cause: unknown, seen: Set<object>): boolean {
  if (cause === undefined || cause === null || seen.size > INTERNAL.errorCauseDepth) return false;
  return !isObject(cause) || !seen.has(cause);
}

function causeOf(error: object): unknown {
  const cause = read(error, 'cause');
  if (cause !== undefined) return cause;
  // A failed connection is an AggregateError with an empty message; what happened is in its parts.
  const errors = read(error, 'errors');
  return Array.isArray(errors) ? read(errors, '0') : undefined;
}

function nameOf(error: object): string {
  const name = read(error, 'name');
  return typeof name === 'string' && name !== '' ? tidy(name, INTERNAL.errorMessageLimit) : 'Error';
}

function isCode(code: unknown): code is string | number {
  return (typeof code === 'string' && code !== '') || typeof code === 'number';
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : describeValue(value);
}

function describeValue(value: unknown): string {
  const limit = INTERNAL.errorMessageLimit;
  if (typeof value === 'string') return tidy(value, limit);
  try {
    // Runs no getters, and stays small for a large object.
    const text = inspect(value, {
      depth: 1,
      breakLength: Infinity,
      maxArrayLength: 10,
      maxStringLength: limit,
    });
    return tidy(text, limit);
  } catch {
    return UNREADABLE;
  }
}

/** A stack repeats the message in front; a long message would leave no room for the frames. */
function tidyStack(stack: string, message: string, shortMessage: string): string {
  const start = message.length > shortMessage.length ? stack.indexOf(message) : -1;
  const short =
    start < 0 ? stack : stack.slice(0, start) + shortMessage + stack.slice(start + message.length);
  return cut(clean(short.slice(0, 2 * INTERNAL.errorStackLimit)), INTERNAL.errorStackLimit);
}

/** One line without control characters, at most `limit` long. */
function tidy(text: string, limit: number): string {
  // Twice the limit is enough to work on: nothing after it can be shown.
  const oneLine = clean(text.slice(0, 2 * limit).replace(LINE_BREAKS, ' '));
  return cut(text.length > 2 * limit ? `${oneLine}…` : oneLine, limit);
}

function clean(text: string): string {
  return stripVTControlCharacters(text).replaceAll('\t', ' ').replace(CONTROL, '');
}

function cut(text: string, limit: number): string {
  // Cutting through a pair of surrogates leaves half a character.
  return (text.length > limit ? `${text.slice(0, limit - 1)}…` : text).toWellFormed();
}

function read(object: object, property: string): unknown {
  try {
    return Reflect.get(object, property);
  } catch {
    return property === 'message' ? UNREADABLE : undefined;
  }
}

function isObject(value: unknown): value is object {
  return (typeof value === 'object' && value !== null) || typeof value === 'function';
}

function readJobError(stored: object, depth: number): JobError {
  const name = read(stored, 'name');
  const message = read(stored, 'message');
  const code = read(stored, 'code');
  const stack = read(stored, 'stack');
  const cause = read(stored, 'cause');
  const at = read(stored, 'at');
  // Tidied again: whoever may write to Redis may have written it.
  const limit = INTERNAL.errorMessageLimit;
  return {
    name: typeof name === 'string' ? tidy(name, limit) : 'Error',
    message: typeof message === 'string' ? tidy(message, limit) : '',
    ...(typeof code === 'string' && { code: tidy(code, limit) }),
    ...(typeof stack === 'string' && { stack: tidyStack(stack, '', '') }),
    ...(isObject(cause) && depth < INTERNAL.errorCauseDepth && { cause: readJobError(cause, depth + 1) }),
    ...(typeof at === 'number' && { at }),
  };
}
