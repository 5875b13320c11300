import { describe, expect, it } from '@jest/globals';
import { ConfigurationError, InvalidOptionError } from '../errors/errors.js';
import { checkEnqueueOptions } from './enqueue-options.js';
import type { EnqueueOptions } from './options.js';

function complaint(json: string): InvalidOptionError {
  try {
    const options: EnqueueOptions = JSON.parse(json);
    checkEnqueueOptions(options);
  } catch (error) {
    if (error instanceof InvalidOptionError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('checkEnqueueOptions', () => {
  it('accepts what can work', () => {
    checkEnqueueOptions(undefined);
    checkEnqueueOptions({});
    checkEnqueueOptions({ jobId: 'a:b', delayMs: 0, priority: 0, maxAttempts: 1 });
    checkEnqueueOptions({ delayMs: 10 * 365 * 24 * 3_600_000, priority: 9, maxAttempts: 1_000 });
    checkEnqueueOptions(JSON.parse('{}', () => ({ jobId: undefined })));
  });

  it.each([
    ['null', 'options', 'null'],
    ['"a"', 'options', '"a"'],
    ['{"jobId":""}', 'jobId', '""'],
    ['{"jobId":"a{b}"}', 'jobId', 'braces'],
    ['{"jobId":7}', 'jobId', '7'],
    ['{"delayMs":-1}', 'delayMs', '-1'],
    ['{"delayMs":1.5}', 'delayMs', '1.5'],
    ['{"delayMs":null}', 'delayMs', 'null'],
    ['{"delayMs":315360000001}', 'delayMs', '315360000001'],
    ['{"priority":10}', 'priority', '10'],
    ['{"maxAttempts":0}', 'maxAttempts', '0'],
    ['{"delay":5}', 'delay', 'did you mean delayMs?'],
    ['{"id":"a"}', 'id', 'did you mean jobId?'],
    ['{"toString":1}', 'toString', 'not an option'],
  ])('refuses %s, naming %s', (json, field, text) => {
    const error = complaint(json);
    expect(error.field).toBe(field);
    expect(error.message).toContain(text);
    expect(error).not.toBeInstanceOf(ConfigurationError);
  });
});
