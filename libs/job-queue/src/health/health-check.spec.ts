import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { HealthIndicatorService } from '@nestjs/terminus';
import { StoreUnavailableError } from '../errors/errors.js';
import { INTERNAL } from '../options/defaults.js';
import { answerInTime, type Finding, judge } from './health-check.js';

const health = new HealthIndicatorService();

function finding(verdict: Finding['verdict'], reasons: string[] = []): Finding {
  return { verdict, reasons, data: { depth: 3 } };
}

afterEach(() => {
  jest.useRealTimers();
});

describe('answerInTime', () => {
  it.each(['up', 'degraded', 'down'] as const)('answers %s with its data and reasons', async (verdict) => {
    const answer = await answerInTime(health, 'jobs', () => finding(verdict, ['one', 'two']));
    expect(answer).toEqual({ jobs: { status: verdict, depth: 3, message: 'one; two' } });
  });

  it('answers up with a flag where Terminus knows no degraded', async () => {
    const old = new HealthIndicatorService();
    const check = old.check.bind(old);
    // Terminus 11: the session has no such method.
    jest
      .spyOn(old, 'check')
      .mockImplementation((key) => Object.defineProperty(check(key), 'degraded', { value: undefined }));
    const answer = await answerInTime(old, 'jobs', () => finding('degraded', ['too deep']));
    expect(answer).toEqual({ jobs: { status: 'up', degraded: true, depth: 3, message: 'too deep' } });
  });

  it('is down when the check rejects or throws at once', async () => {
    const rejected = await answerInTime(health, 'a', () => Promise.reject(new Error('no connection')));
    expect(rejected).toEqual({ a: { status: 'down', message: 'no connection' } });
    const thrown = await answerInTime(health, 'a', () => {
      throw new Error('no such queue');
    });
    expect(thrown).toEqual({ a: { status: 'down', message: 'no such queue' } });
  });

  it('is down in time when the check hangs, and swallows what comes later', async () => {
    jest.useFakeTimers();
    const unhandled = jest.fn();
    process.on('unhandledRejection', unhandled);
    let fail = (_error: Error): void => {};
    const hanging = new Promise<Finding>((_resolve, reject) => {
      fail = reject;
    });
    const answer = answerInTime(health, 'jobs', () => hanging);
    await jest.advanceTimersByTimeAsync(INTERNAL.healthTimeoutMs);
    expect(await answer).toEqual({
      jobs: { status: 'down', message: `the store did not answer within ${INTERNAL.healthTimeoutMs} ms` },
    });
    jest.useRealTimers();
    fail(new Error('late'));
    await new Promise((resolve) => setImmediate(resolve));
    process.off('unhandledRejection', unhandled);
    expect(unhandled).not.toHaveBeenCalled();
  });

  it('does not tell where the store is', async () => {
    const away = new StoreUnavailableError('redis.internal:6379 refused the user name or the password');
    expect(await answerInTime(health, 'jobs', () => Promise.reject(away))).toEqual({
      jobs: { status: 'down', message: 'the job store is not available' },
    });
  });

  it('leaves no timer behind', async () => {
    jest.useFakeTimers();
    await answerInTime(health, 'a', () => finding('up'));
    await answerInTime(health, 'a', () => Promise.reject(new Error('x')));
    expect(jest.getTimerCount()).toBe(0);
  });
});

describe('judge', () => {
  const measure = (value: number) => ({ text: `value ${value}`, value, degradedFrom: 10, downFrom: 20 });

  it.each([
    [[9], 'up', []],
    [[10], 'degraded', ['value 10 (degraded from 10)']],
    [[19], 'degraded', ['value 19 (degraded from 10)']],
    [[20], 'down', ['value 20 (down from 20)']],
    [[11, 0, 25], 'down', ['value 11 (degraded from 10)', 'value 25 (down from 20)']],
    [[], 'up', []],
  ])('judges %j as %s', (values, verdict, reasons) => {
    expect(judge(values.map(measure))).toEqual({ verdict, reasons });
  });
});
