import { describe, expect, it } from '@jest/globals';
import { ConfigurationError } from '../errors/errors.js';
import { DEFAULTS } from './defaults.js';
import type { JobQueueModuleOptions } from './options.js';
import { resolveOptions } from './resolve-options.js';

/** What arrives from JavaScript or JSON: no type protects it. */
function resolveUntyped(json: string): unknown {
  const parsed: JobQueueModuleOptions = JSON.parse(json);
  return resolveOptions(parsed);
}

function complaint(options: JobQueueModuleOptions | string): ConfigurationError {
  try {
    if (typeof options === 'string') resolveUntyped(options);
    else resolveOptions(options);
  } catch (error) {
    if (error instanceof ConfigurationError) return error;
    throw error;
  }
  throw new Error('was accepted');
}

describe('resolveOptions', () => {
  it('fills in every default', () => {
    const { queue, worker, prefix, logging, maintenance, shutdownTimeoutMs, commandTimeoutMs } = DEFAULTS;
    expect(resolveOptions({})).toEqual({
      connection: 'memory',
      connectionGiven: false,
      prefix,
      queues: [queue],
      worker,
      shutdownTimeoutMs,
      commandTimeoutMs,
      maintenance,
      logging,
    });
  });

  it('keeps what was given and completes the rest', () => {
    const resolved = resolveOptions({
      connection: 'memory',
      prefix: 'my:app',
      queues: [
        {
          name: 'mail',
          leaseMs: 100,
          backoff: { jitter: 'none' },
          retention: { done: { count: 0, ageMs: 0 }, dead: { ageMs: 60_000 } },
        },
        { name: 'reports' },
      ],
      worker: false,
      logging: false,
      maintenance: { pruneIntervalMs: 1_000 },
    });
    expect(resolved).toMatchObject({
      connectionGiven: true,
      prefix: 'my:app',
      worker: false,
      logging: false,
      maintenance: { ...DEFAULTS.maintenance, pruneIntervalMs: 1_000 },
    });
    const [mail, reports] = resolved.queues;
    expect(mail).toEqual({
      ...DEFAULTS.queue,
      name: 'mail',
      leaseMs: 100,
      backoff: { ...DEFAULTS.queue.backoff, jitter: 'none' },
      retention: {
        ...DEFAULTS.queue.retention,
        done: { count: 0, ageMs: 0 },
        dead: { ...DEFAULTS.queue.retention.dead, ageMs: 60_000 },
      },
    });
    expect(reports).toEqual({ ...DEFAULTS.queue, name: 'reports' });
  });

  it.each([
    ['{"worker":"false"}', 'worker', '"false"'],
    ['{"queues":{}}', 'queues', 'an object of Object'],
    ['{"queues":[]}', 'queues', 'an array of 0'],
    ['{"queues":["jobs"]}', 'queues[0]', '"jobs"'],
    ['{"queues":[{}]}', 'queues[0].name', 'undefined'],
    ['{"queues":[{"name":"a:b"}]}', 'queues[0].name', '"a:b"'],
    ['{"queues":[{"name":"a"},{"name":"b"},{"name":"a"}]}', 'queues[2].name', '"a"'],
    ['{"queues":[{"name":"a"},{"name":"b","leaseMs":"30s"}]}', 'queues[1].leaseMs', '"30s"'],
    ['{"queues":[{"name":"a","leaseMs":99}]}', 'queues[0].leaseMs', '99'],
    ['{"queues":[{"name":"a","leaseMs":1000.5}]}', 'queues[0].leaseMs', '1000.5'],
    ['{"queues":[{"name":"a","leaseMs":null}]}', 'queues[0].leaseMs', 'null'],
    ['{"queues":[{"name":"a","leaseMs":2147483648}]}', 'queues[0].leaseMs', '2147483648'],
    ['{"queues":[{"name":"a","concurrency":0}]}', 'queues[0].concurrency', '0'],
    ['{"queues":[{"name":"a","concurrency":10001}]}', 'queues[0].concurrency', '10001'],
    ['{"queues":[{"name":"a","maxAttempts":1001}]}', 'queues[0].maxAttempts', '1001'],
    ['{"queues":[{"name":"a","timeoutMs":-1}]}', 'queues[0].timeoutMs', '-1'],
    ['{"queues":[{"name":"a","payloadLimitBytes":0}]}', 'queues[0].payloadLimitBytes', '0'],
    ['{"queues":[{"name":"a","backoff":5}]}', 'queues[0].backoff', '5'],
    ['{"queues":[{"name":"a","backoff":{"jitter":"equal"}}]}', 'queues[0].backoff.jitter', '"equal"'],
    ['{"queues":[{"name":"a","backoff":{"baseDelayMs":-1}}]}', 'queues[0].backoff.baseDelayMs', '-1'],
    [
      '{"queues":[{"name":"a","backoff":{"baseDelayMs":9,"maxDelayMs":8}}]}',
      'queues[0].backoff.maxDelayMs',
      '8',
    ],
    ['{"queues":[{"name":"a","retention":{"dead":{"count":-1}}}]}', 'queues[0].retention.dead.count', '-1'],
    [
      '{"queues":[{"name":"a","retention":{"done":{"ageMs":9999}}}]}',
      'queues[0].retention.done.ageMs',
      '9999',
    ],
    ['{"maintenance":{"reapIntervalMs":999}}', 'maintenance.reapIntervalMs', '999'],
    ['{"logging":true}', 'logging', 'true'],
    ['{"commandTimeoutMs":0}', 'commandTimeoutMs', '0'],
    ['{"prefix":""}', 'prefix', '""'],
    ['{"prefix":"a{b}"}', 'prefix', '"a{b}"'],
    [`{"prefix":"${'a'.repeat(33)}"}`, 'prefix', 'a'],
    ['null', 'options', 'null'],
  ])('refuses %s, naming %s and what it received', (json, field, received) => {
    const error = complaint(json);
    expect(error.field).toBe(field);
    expect(error.message).toContain(received);
    expect(error.message.startsWith(`${field}: `)).toBe(true);
  });

  it.each([
    ['{"queue":[]}', 'queue', 'queues'],
    ['{"shutdownTimeout":1}', 'shutdownTimeout', 'shutdownTimeoutMs'],
    ['{"queues":[{"name":"a","lease":1}]}', 'queues[0].lease', 'leaseMs'],
    ['{"queues":[{"name":"a","attempts":1}]}', 'queues[0].attempts', 'maxAttempts'],
    ['{"queues":[{"name":"a","Concurency":1}]}', 'queues[0].Concurency', 'concurrency'],
    ['{"queues":[{"name":"a","backoff":{"maxDelay":1}}]}', 'queues[0].backoff.maxDelay', 'maxDelayMs'],
    ['{"queues":[{"name":"a","retention":{"canceled":1}}]}', 'queues[0].retention.canceled', 'cancelled'],
    ['{"queues":[{"name":"a","retention":{"done":{"age":1}}}]}', 'queues[0].retention.done.age', 'ageMs'],
    ['{"maintenance":{"reapInterval":1}}', 'maintenance.reapInterval', 'reapIntervalMs'],
  ])('asks of the unknown key in %s whether %s was meant to be %s', (json, field, meant) => {
    const error = complaint(json);
    expect(error.field).toBe(field);
    expect(error.message).toContain(`did you mean ${meant}?`);
  });

  it('lists the options when an unknown key resembles none', () => {
    const { mend } = complaint('{"maintenance":{"xyzzy":1}}');
    expect(mend).toContain('reapIntervalMs, promoteIntervalMs, pruneIntervalMs');
    expect(complaint('{"maintenance":{"constructor":1}}').field).toBe('maintenance.constructor');
  });

  it('ties retention to the command timeout, except where nothing is kept at all', () => {
    const error = complaint({
      commandTimeoutMs: 10_000,
      queues: [{ name: 'a', retention: { cancelled: { ageMs: 19_999 } } }],
    });
    expect(error.field).toBe('queues[0].retention.cancelled.ageMs');
    expect(error.mend).toContain('at least 20000, twice commandTimeoutMs');
    const { queues } = resolveOptions({
      queues: [{ name: 'a', retention: { done: { count: 0, ageMs: 0 } } }],
    });
    expect(queues[0].retention.done).toEqual({ count: 0, ageMs: 0 });
  });

  it('says why a lease cannot be tiny', () => {
    expect(complaint({ queues: [{ name: 'a', leaseMs: 50 }] }).mend).toContain('100 is for tests');
  });
});
