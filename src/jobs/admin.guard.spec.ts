/** The admin token is compared in a time that does not depend on what was sent. */
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { type ExecutionContext, UnauthorizedException } from '@nestjs/common';
import { AppConfig } from '../config/app-config.js';

const real = await import('node:crypto');
const timingSafeEqual = jest.fn(real.timingSafeEqual);
jest.unstable_mockModule('node:crypto', () => ({ ...real, timingSafeEqual }));
const { AdminGuard } = await import('./admin.guard.js');

const ADMIN_TOKEN = 'correct horse';

function allows(authorization: string): boolean {
  const http = { getRequest: () => ({ headers: { authorization } }), getResponse: () => ({ set: () => {} }) };
  // The guard uses nothing else of it.
  const context = { switchToHttp: () => http } as unknown as ExecutionContext;
  try {
    return new AdminGuard(new AppConfig({ ADMIN_TOKEN })).canActivate(context);
  } catch (error) {
    if (error instanceof UnauthorizedException) return false;
    throw error;
  }
}

describe('AdminGuard', () => {
  afterEach(() => void timingSafeEqual.mockClear());

  it.each([
    'c',
    'correct',
    'correct hors',
    'correct horsf',
    'correct horse!',
    'x'.repeat(5_000),
    ADMIN_TOKEN,
  ])('compares digests of one length, also with %s', (token) => {
    expect(allows(`Bearer ${token}`)).toBe(token === ADMIN_TOKEN);
    expect(timingSafeEqual).toHaveBeenCalledTimes(1);
    const lengths = timingSafeEqual.mock.calls.flat().map((digest) => digest.byteLength);
    expect(lengths).toEqual([32, 32]);
  });
});
