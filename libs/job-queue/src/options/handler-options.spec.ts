import { describe, expect, it } from '@jest/globals';
import { ConfigurationError } from '../errors/errors.js';
import { checkHandlerOptions } from './handler-options.js';
import type { JobHandlerOptions } from './options.js';

const WHERE = "MailHandlers.send @JobHandler('send_email')";

function complaint(json: string): ConfigurationError {
  try {
    const options: JobHandlerOptions = JSON.parse(json);
    checkHandlerOptions(WHERE, options);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('checkHandlerOptions', () => {
  it('accepts what can work', () => {
    checkHandlerOptions(WHERE, undefined);
    checkHandlerOptions(WHERE, {
      queue: 'mail',
      maxAttempts: 3,
      timeoutMs: 0,
      backoff: { jitter: 'none', baseDelayMs: 0 },
      payload: Date,
      isPermanent: () => true,
    });
  });

  it.each([
    ['[]', 'options', 'an array'],
    ['{"queue":"a:b"}', 'queue', '":"'],
    ['{"maxAttempts":"5"}', 'maxAttempts', '"5"'],
    ['{"timeoutMs":-1}', 'timeoutMs', '-1'],
    ['{"backoff":{"jitter":1}}', 'backoff.jitter', "'full', 'none'"],
    ['{"backoff":{"maxDelayMs":0.5}}', 'backoff.maxDelayMs', '0.5'],
    ['{"backoff":{"base":1}}', 'backoff.base', 'did you mean baseDelayMs?'],
    ['{"payload":{}}', 'payload', 'class'],
    ['{"isPermanent":true}', 'isPermanent', 'function'],
    ['{"timeout":1}', 'timeout', 'did you mean timeoutMs?'],
  ])('refuses %s, naming the handler and %s', (json, option, text) => {
    const error = complaint(json);
    expect(error.field).toBe(`${WHERE} ${option}`);
    expect(error.message).toContain(text);
  });
});
