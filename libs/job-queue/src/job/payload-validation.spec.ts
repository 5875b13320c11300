import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Transform, Type } from 'class-transformer';
import {
  IsEmail,
  IsInt,
  IsOptional,
  IsString,
  Min,
  registerDecorator,
  ValidateNested,
} from 'class-validator';
import { PayloadTooLargeError, PayloadValidationError } from '../errors/errors.js';
import { serializePayload, validatePayload } from './payload-validation.js';

class City {
  @IsString()
  name!: string;
}

class Address {
  @ValidateNested()
  @Type(() => City)
  city!: City;
}

class Order {
  @IsEmail()
  email!: string;

  @IsInt()
  @Min(1)
  count!: number;

  @IsOptional()
  @ValidateNested()
  @Type(() => Address)
  address?: Address;

  @IsOptional()
  @ValidateNested({ each: true })
  @Type(() => City)
  cities?: City[];

  @IsOptional()
  @ValidateNested()
  untyped?: City;

  @IsOptional()
  @Type(() => Date)
  at?: Date;

  label(): string {
    return `${this.count} for ${this.email}`;
  }
}

class Undecorated {
  id!: number;
}

const good = { email: 'a@example.com', count: 2 };

async function violations(plain: unknown): Promise<Record<string, readonly string[]>> {
  try {
    await validatePayload('order', Order, plain);
  } catch (error) {
    if (!(error instanceof PayloadValidationError)) throw error;
    return Object.fromEntries(error.violations.map(({ path, messages }) => [path, messages]));
  }
  return {};
}

describe('serializePayload', () => {
  it('answers JSON text', () => {
    expect(serializePayload('a', { b: [1, 'ü'], c: undefined, d: new Date(0) }, 100)).toBe(
      '{"b":[1,"ü"],"d":"1970-01-01T00:00:00.000Z"}',
    );
    expect(serializePayload('a', null, 100)).toBe('null');
  });

  it.each([
    ['undefined', undefined, 'takes {}'],
    ['a function', () => 1, 'function'],
    ['a symbol', Symbol('a'), 'symbol'],
    ['a BigInt', { n: 1n }, 'BigInt'],
    ['a throwing toJSON', { toJSON: () => JSON.parse('{') }, 'JSON'],
  ])('refuses %s', (_, payload, text) => {
    expect(() => serializePayload('a', payload, 100)).toThrow(PayloadValidationError);
    expect(() => serializePayload('a', payload, 100)).toThrow(text);
  });

  it('refuses a circular payload in one line', () => {
    const payload: { self?: object } = {};
    payload.self = { payload };
    expect(() => serializePayload('a', payload, 100)).toThrow(/^The payload of "a".*payload: .*circular.*$/);
  });

  it('counts bytes, not characters', () => {
    const text = '"ü€𝄞"';
    const bytes = Buffer.byteLength(text);
    expect(serializePayload('a', 'ü€𝄞', bytes)).toBe(text);
    expect(() => serializePayload('a', 'ü€𝄞', bytes - 1)).toThrow(
      new PayloadTooLargeError('a', bytes, bytes - 1),
    );
    expect(serializePayload('a', 'abc', 5)).toBe('"abc"');
    expect(() => serializePayload('a', 'abc', 4)).toThrow(PayloadTooLargeError);
  });
});

describe('validatePayload', () => {
  it('answers an instance with its nested types made', async () => {
    const plain = { ...good, address: { city: { name: 'Bern' } }, at: '2024-01-01T00:00:00.000Z' };
    const order = await validatePayload('order', Order, plain);
    expect(order).toBeInstanceOf(Order);
    expect(order.label()).toBe('2 for a@example.com');
    expect(order.address?.city).toBeInstanceOf(City);
    expect(order.at).toEqual(new Date('2024-01-01'));
  });

  it('flattens nested violations to dotted paths', async () => {
    const plain = { email: 'x', count: 0, address: { city: {} }, cities: [{ name: 'Bern' }, { name: 5 }] };
    expect(await violations(plain)).toEqual({
      email: ['email must be an email'],
      count: ['count must not be less than 1'],
      'address.city.name': ['name must be a string'],
      'cities.1.name': ['name must be a string'],
    });
  });

  it('names the job type', async () => {
    await expect(validatePayload('order', Order, {})).rejects.toMatchObject({ jobType: 'order' });
  });

  it('does not let a nested object without a known class pass unchecked', async () => {
    const found = await violations({ ...good, untyped: { name: 5 } });
    expect(found['untyped']?.join()).toContain('@Type');
  });

  it('accepts any object for a class without decorators', async () => {
    const payload = await validatePayload('plain', Undecorated, { id: 7, more: true });
    expect(payload).toBeInstanceOf(Undecorated);
    expect(payload).toEqual({ id: 7, more: true });
  });

  it.each([undefined, null, 'text', 5, [good]])('refuses %p', async (plain) => {
    expect(await violations(plain)).toEqual({ payload: ['must be an object'] });
    await expect(validatePayload('plain', Undecorated, plain)).rejects.toThrow(PayloadValidationError);
  });

  it('is not fooled by __proto__ in the JSON', async () => {
    const plain: unknown = JSON.parse('{"__proto__":{"email":"a@example.com","count":2}}');
    expect(Object.keys(await violations(plain)).toSorted()).toEqual(['count', 'email']);
  });

  it('takes a @Transform that chokes for a bad payload', async () => {
    class Trimmed {
      @Transform(({ value }) => value.trim())
      text!: string;
    }
    await expect(validatePayload('trimmed', Trimmed, { text: 5 })).rejects.toThrow(
      /payload: cannot become a Trimmed: .*trim/,
    );
  });

  it('passes on what a validator throws: it says nothing about the payload', async () => {
    const outage = new Error('database is down');
    class Known {
      id!: number;
    }
    registerDecorator({
      target: Known,
      propertyName: 'id',
      async: true,
      validator: { validate: () => Promise.reject(outage) },
    });
    await expect(validatePayload('known', Known, { id: 1 })).rejects.toBe(outage);
  });
});
