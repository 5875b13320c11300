/** What may be a name or an id: short enough for a key, and unable to break out of one. */
import { InvalidOptionError } from '../errors/errors.js';

const MAX_LENGTH = 128;
// Braces would move a key to another cluster slot, control characters would garble logs and redis-cli.
// eslint-disable-next-line no-control-regex
const FORBIDDEN = /[{}\u0000-\u001f\u007f-\u009f\u2028\u2029]/;

/**
 * Accepts a job type or a job id of 1 to 128 characters without braces and control characters.
 * @throws InvalidOptionError naming `field`.
 */
export function checkName(field: string, value: unknown): asserts value is string {
  if (typeof value !== 'string' || value.length === 0 || value.length > MAX_LENGTH) {
    throw new InvalidOptionError(field, value, `must be a string of 1 to ${MAX_LENGTH} characters`);
  }
  if (FORBIDDEN.test(value) || !value.isWellFormed()) {
    throw new InvalidOptionError(
      field,
      value,
      'must not contain braces, control characters or lone surrogates',
    );
  }
}

/**
 * Accepts a queue name: as `checkName`, and without `:`, which separates the parts of a key.
 * @throws InvalidOptionError naming `field`.
 */
export function checkQueueName(field: string, value: unknown): asserts value is string {
  checkName(field, value);
  if (value.includes(':')) throw new InvalidOptionError(field, value, 'must not contain ":"');
}
