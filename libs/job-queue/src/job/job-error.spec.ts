import { describe, expect, it } from '@jest/globals';
import { runInNewContext } from 'node:vm';
import { PermanentError } from '../errors/attempt-errors.js';
import { INTERNAL } from '../options/defaults.js';
import type { JobError } from './job.js';
import { parseError, serializeError } from './job-error.js';

function roundTrip(error: unknown): JobError {
  const text = serializeError(error);
  expect(text).toMatch(/^\{".*\}$/);
  expect(JSON.parse(text)).toEqual(parseError(text));
  return parseError(text);
}

function chain(error: JobError): string[] {
  return [error.message, ...(error.cause === undefined ? [] : chain(error.cause))];
}

describe('serializeError', () => {
  it('keeps name, message, code, stack and cause', () => {
    const cause = Object.assign(new TypeError('no route'), { code: 'EHOSTUNREACH' });
    const kept = roundTrip(new PermanentError('cannot send', { cause }));
    expect(kept).toMatchObject({
      name: 'PermanentError',
      message: 'cannot send',
      code: 'PERMANENT',
      cause: { name: 'TypeError', message: 'no route', code: 'EHOSTUNREACH' },
    });
    expect(kept.stack).toMatch(/cannot send\n {4}at /);
    expect(kept.cause?.cause).toBeUndefined();
  });

  it.each([
    ['a string', 'boom', { name: 'NonError', message: 'boom' }],
    ['undefined', undefined, { name: 'NonError', message: 'undefined' }],
    ['null', null, { name: 'NonError', message: 'null' }],
    ['a number', 7, { name: 'NonError', message: '7' }],
    ['a BigInt', 7n, { name: 'NonError', message: '7n' }],
    ['a symbol', Symbol('a'), { name: 'NonError', message: 'Symbol(a)' }],
    ['an object', { a: { b: 1 } }, { name: 'NonError', message: '{ a: { b: 1 } }' }],
    ['an object like an error', { message: 'boom', code: 5 }, { name: 'Error', message: 'boom', code: '5' }],
    [
      'an object without prototype',
      Object.create(null),
      { name: 'NonError', message: '[Object: null prototype] {}' },
    ],
  ])('takes %s', (_, thrown, expected) => {
    expect(roundTrip(thrown)).toEqual(expected);
  });

  it('takes an error of another realm', () => {
    expect(roundTrip(runInNewContext('new RangeError("far")'))).toMatchObject({
      name: 'RangeError',
      message: 'far',
    });
  });

  it('shows why a connection failed: the first part of an AggregateError', () => {
    const kept = roundTrip(new AggregateError([new Error('ECONNREFUSED ::1'), new Error('other')], ''));
    expect(chain(kept)).toEqual(['', 'ECONNREFUSED ::1']);
  });

  it('follows causes to the limit and no circle', () => {
    let deep = new Error('0');
    for (let level = 1; level < 20; level++) deep = new Error(String(level), { cause: deep });
    expect(chain(roundTrip(deep))).toHaveLength(INTERNAL.errorCauseDepth + 1);
    const first = new Error('first');
    first.cause = new Error('second', { cause: first });
    expect(chain(roundTrip(first))).toEqual(['first', 'second']);
    expect(chain(roundTrip(new Error('a', { cause: 'text' })))).toEqual(['a', 'text']);
  });

  it('cuts long texts, and leaves room for the frames of the stack', () => {
    const kept = roundTrip(new Error('m'.repeat(100_000)));
    expect(kept.message).toHaveLength(INTERNAL.errorMessageLimit);
    expect(kept.message.endsWith('…')).toBe(true);
    expect(kept.stack?.length).toBeLessThanOrEqual(INTERNAL.errorStackLimit);
    expect(kept.stack).toContain('\n    at ');
    const emoji = roundTrip(new Error('😀'.repeat(INTERNAL.errorMessageLimit)));
    expect(emoji.message.isWellFormed()).toBe(true);
  });

  it('strips control characters, and keeps line breaks in the stack only', () => {
    const error = new Error('a\u0000b\r\n  c\u001b[31md\u001b[0m\u2028e\tf\u0085g');
    error.stack = 'Error: x\r\n\tat y\u0007\u009b31m';
    expect(roundTrip(error)).toMatchObject({ message: 'ab cd e f g', stack: 'Error: x\n at y' });
  });

  it('strips what turns the direction of writing around', () => {
    expect(roundTrip(new Error('gpj.\u202egnp\u2066x')).message).toBe('gpj.gnpx');
  });

  it('survives errors that are hostile to being read', () => {
    const thrower = (): never => {
      throw new Error('no');
    };
    const getters = new Error('x');
    // The stack first: replacing it later would make V8 read the message.
    for (const property of ['stack', 'message', 'name', 'cause', 'code']) {
      Object.defineProperty(getters, property, { get: thrower });
    }
    expect(roundTrip(getters)).toEqual({ name: 'Error', message: '(cannot be read)' });
    const proxy = new Proxy({}, { get: thrower, getPrototypeOf: thrower, ownKeys: thrower });
    expect(roundTrip(proxy).message).toEqual(expect.any(String));
    const { proxy: revoked, revoke } = Proxy.revocable({}, {});
    revoke();
    expect(roundTrip(revoked).message).toEqual(expect.any(String));
    expect(roundTrip(new Error('outer', { cause: revoked })).message).toEqual(expect.any(String));
    const odd = Object.assign(new Error('x'), {
      message: { a: 1 },
      name: 5,
      stack: 7,
      code: {},
      toJSON: thrower,
    });
    expect(roundTrip(odd)).toEqual({ name: 'Error', message: '{ a: 1 }' });
    const custom = { [Symbol.for('nodejs.util.inspect.custom')]: thrower };
    expect(roundTrip(custom)).toEqual({ name: 'NonError', message: '(cannot be read)' });
  });
});

describe('parseError', () => {
  it('reads what the store recorded with its time', () => {
    expect(parseError('{"at":5,"name":"E","message":"m"}')).toEqual({ at: 5, name: 'E', message: 'm' });
  });

  it.each(['', 'oops', 'null', '"x"', '5'])('says of %j that it is not readable', (text) => {
    expect(parseError(text)).toEqual({
      name: 'UnreadableError',
      message: expect.stringContaining('not readable'),
    });
  });

  it('strips and cuts what somebody else wrote', () => {
    const hostile = {
      name: 'E\u001b[2J',
      message: `a\u0000b\n${'x'.repeat(5_000)}`,
      code: '\u0007C',
      stack: 's\u009b',
    };
    const error = parseError(JSON.stringify({ ...hostile, cause: { ...hostile, name: 'C\u202e' } }));
    expect(error).toMatchObject({ name: 'E', code: 'C', stack: 's', cause: { name: 'C' } });
    expect(error.message).toMatch(/^ab xxx.*…$/);
    expect(error.message).toHaveLength(2_000);
  });

  it('leaves out what has the wrong type', () => {
    expect(parseError('{"name":1,"message":2,"stack":3,"code":4,"cause":5,"at":"6"}')).toEqual({
      name: 'Error',
      message: '',
    });
    expect(parseError('[]')).toEqual({ name: 'Error', message: '' });
  });
});
