/** What may be a payload: it fits into JSON and the size limit, and it satisfies the decorators of its class. */
import { type ClassConstructor, plainToInstance } from 'class-transformer';
import { validate, type ValidationError } from 'class-validator';
import {
  ConfigurationError,
  type FieldViolation,
  PayloadTooLargeError,
  PayloadValidationError,
} from '../errors/errors.js';
import type { PayloadClass } from './job-definition.js';

/** The path of a violation that is about the payload as a whole. */
const WHOLE = 'payload';
/** A UTF-16 unit takes at most this many bytes of UTF-8. */
const MAX_BYTES_PER_UNIT = 3;

/**
 * The payload as JSON text. As everywhere in JSON, properties that are `undefined` or functions are left
 * out, and dates become strings.
 * @throws PayloadValidationError when JSON cannot express it: a circular reference, a BigInt, `undefined`.
 * @throws PayloadTooLargeError when the text has more than `limitBytes` bytes.
 */
export function serializePayload(jobType: string, payload: unknown, limitBytes: number): string {
  const text = toJson(jobType, payload);
  // Most payloads are far below the limit: then counting their bytes is not worth the time.
  if (text.length * MAX_BYTES_PER_UNIT > limitBytes) {
    const bytes = Buffer.byteLength(text);
    if (bytes > limitBytes) throw new PayloadTooLargeError(jobType, bytes, limitBytes);
  }
  return text;
}

function toJson(jobType: string, payload: unknown): string {
  let text: string | undefined;
  try {
    text = stringify(payload);
  } catch (error) {
    throw invalid(jobType, `cannot be written as JSON: ${oneLine(error)}`);
  }
  if (text === undefined) {
    // Not taken for `null`: forgetting the argument is the likelier story, and the handler would find out too late.
    const what = payload === undefined ? 'is undefined' : `is a ${typeof payload} that JSON leaves out`;
    throw invalid(jobType, `${what}; a job without data takes {}`);
  }
  return text;
}

/** With the type that JSON.stringify really has: it answers `undefined` for what it leaves out. */
const stringify: (value: unknown) => string | undefined = JSON.stringify;

/**
 * Makes an instance of the payload's class and checks its decorators. A class without any decorators
 * accepts every object. What an asynchronous validator of the user throws (a database that is down) is
 * passed on as it is: it says nothing about the payload, and the attempt may be retried.
 * @throws PayloadValidationError when the payload does not fit.
 */
export async function validatePayload<P extends object>(
  jobType: string,
  payloadClass: PayloadClass<P>,
  plain: unknown,
): Promise<P> {
  if (!isConstructor(payloadClass)) {
    throw new ConfigurationError(`payload of "${jobType}"`, payloadClass, 'must be a class');
  }
  if (typeof plain !== 'object' || plain === null || Array.isArray(plain)) {
    throw invalid(jobType, 'must be an object');
  }
  const instance = instantiate(jobType, payloadClass, plain);
  const errors = await validate(instance, {
    // A nested object that class-validator does not know, because its @Type is missing, would pass unchecked.
    forbidUnknownValues: true,
    validationError: { target: false, value: false },
  });
  const violations = errors
    .filter((error) => !meansNoDecorators(error))
    .flatMap((error) => flatten(error, ''));
  if (violations.length > 0) throw new PayloadValidationError(jobType, violations);
  return instance;
}

function instantiate<P extends object>(jobType: string, payloadClass: ClassConstructor<P>, plain: object): P {
  try {
    return plainToInstance(payloadClass, plain);
  } catch (error) {
    // A @Transform or the constructor choked on the data, and will again.
    throw invalid(jobType, `cannot become a ${payloadClass.name}: ${oneLine(error)}`);
  }
}

/** class-transformer asks for a class that takes any arguments. It passes none, as the signature of no class forbids at run time. */
function isConstructor<P extends object>(payloadClass: PayloadClass<P>): payloadClass is ClassConstructor<P> {
  return typeof payloadClass === 'function';
}

/** How class-validator says that it knows nothing about the payload's own class: one error about no property. */
function meansNoDecorators(error: ValidationError): boolean {
  return error.property === undefined && error.constraints?.['unknownValue'] !== undefined;
}

function flatten(error: ValidationError, parent: string): FieldViolation[] {
  // The complaint about a nested object of an unknown class has no property of its own.
  const path = [parent, error.property].filter(Boolean).join('.');
  const messages = Object.entries(error.constraints ?? {}).map(([constraint, message]) =>
    constraint === 'unknownValue'
      ? 'has no class with validation decorators; is its @Type(() => …) missing?'
      : message,
  );
  const nested = (error.children ?? []).flatMap((child) => flatten(child, path));
  return messages.length > 0 ? [{ path, messages }, ...nested] : nested;
}

function invalid(jobType: string, message: string): PayloadValidationError {
  return new PayloadValidationError(jobType, [{ path: WHOLE, messages: [message] }]);
}

function oneLine(error: unknown): string {
  return (error instanceof Error ? error.message : String(error)).replace(/\s+/g, ' ');
}
