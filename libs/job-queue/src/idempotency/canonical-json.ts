/** One text for one value, and its SHA-256: what tells a repeated request from another one with the same key. */
import { createHash } from 'node:crypto';
import { InvalidOptionError } from '../errors/errors.js';
import { INTERNAL } from '../options/defaults.js';

/**
 * JSON with the properties of every object in the order of their UTF-16 code units (as RFC 8785), so that the
 * order in which a client wrote them does not matter. Bytes are written in base64.
 * @throws InvalidOptionError when JSON cannot express the value, or it is nested too deeply
 */
export function canonicalJson(value: unknown): string {
  return write(value, 0) ?? 'null';
}

export function fingerprintOf(value: unknown): string {
  return createHash('sha256').update(canonicalJson(value)).digest('hex');
}

/** `undefined` where JSON leaves the value out. */
function write(given: unknown, depth: number): string | undefined {
  if (depth > INTERNAL.canonicalJsonDepth) {
    throw new InvalidOptionError('fingerprint', given, 'must not be nested so deeply, or contain itself');
  }
  if (given instanceof Uint8Array) return `{"$bytes":"${Buffer.from(given).toString('base64')}"}`;
  const value = hasToJson(given) ? given.toJSON() : given;
  if (typeof value === 'bigint') throw new InvalidOptionError('fingerprint', value, 'must be JSON');
  if (typeof value !== 'object' || value === null) return stringify(value);
  if (Array.isArray(value)) {
    return `[${value.map((item: unknown) => write(item, depth + 1) ?? 'null').join(',')}]`;
  }
  const properties: string[] = [];
  for (const [name, property] of Object.entries(value).toSorted(byName)) {
    const text = write(property, depth + 1);
    if (text !== undefined) properties.push(`${JSON.stringify(name)}:${text}`);
  }
  return `{${properties.join(',')}}`;
}

function byName([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number {
  return a < b ? -1 : 1;
}

function hasToJson(value: unknown): value is { toJSON(): unknown } {
  return (
    typeof value === 'object' && value !== null && 'toJSON' in value && typeof value.toJSON === 'function'
  );
}

/** With the type that JSON.stringify really has. */
const stringify: (value: unknown) => string | undefined = JSON.stringify;
