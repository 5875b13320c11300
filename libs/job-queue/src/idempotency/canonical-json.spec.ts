import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { InvalidOptionError } from '../errors/errors.js';
import { canonicalJson, fingerprintOf } from './canonical-json.js';

describe('canonicalJson', () => {
  it.each([
    [{ b: 1, a: { d: [], c: null } }, '{"a":{"c":null,"d":[]},"b":1}'],
    [{ a: undefined, b: [undefined, () => 1] }, '{"b":[null,null]}'],
    [{ 10: 1, 9: 2, '': 3 }, '{"":3,"10":1,"9":2}'],
    [{ at: new Date(0) }, '{"at":"1970-01-01T00:00:00.000Z"}'],
    [Buffer.from('abc'), '{"$bytes":"YWJj"}'],
    [[1e21, -0, 0.1, Number.NaN], '[1e+21,0,0.1,null]'],
    [undefined, 'null'],
    ['é\n', '"é\\n"'],
    [JSON.parse('{"__proto__":1,"a":2}'), '{"__proto__":1,"a":2}'],
  ])('writes %p', (value, text) => {
    expect(canonicalJson(value)).toBe(text);
  });

  it('is JSON of the same value, whatever the order of its properties', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        expect(JSON.parse(canonicalJson(value))).toEqual(JSON.parse(JSON.stringify(value)));
        expect(canonicalJson(reversed(value))).toBe(canonicalJson(value));
      }),
    );
  });

  it('refuses what is nested without end', () => {
    const circle: { self?: unknown } = {};
    circle.self = circle;
    expect(() => canonicalJson(circle)).toThrow(InvalidOptionError);
    expect(() => canonicalJson(1n)).toThrow(InvalidOptionError);
  });

  it('is hashed with SHA-256', () => {
    expect(fingerprintOf({})).toBe('44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a');
  });
});

function reversed(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(reversed);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toReversed()
      .map(([name, property]) => [name, reversed(property)]),
  );
}
