import { ForbiddenException, InternalServerErrorException, NotFoundException } from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  ConfigurationError,
  EnqueueRefusedError,
  EnqueueUnknownError,
  IllegalTransitionError,
  InvalidOptionError,
  JobNotFoundError,
  PayloadTooLargeError,
  PayloadValidationError,
  StoreUnavailableError,
} from '@fenceline/nestjs';
import { problemBody, problemOf } from './problem.js';

describe('problemOf', () => {
  it.each([
    [new PayloadValidationError('t', [{ path: 'a.b', messages: ['no'] }]), 400, 'PAYLOAD_INVALID'],
    [new InvalidOptionError('jobId', '', 'must not be empty'), 400, 'INVALID_OPTION'],
    [new PayloadTooLargeError('t', 2, 1), 413, 'PAYLOAD_TOO_LARGE'],
    [new JobNotFoundError('7'), 404, 'JOB_NOT_FOUND'],
    [new IllegalTransitionError('7', 'redrive', 'done', ['dead']), 409, 'ILLEGAL_TRANSITION'],
    [new EnqueueRefusedError('7', 'out of memory'), 503, 'ENQUEUE_REFUSED'],
    [new EnqueueUnknownError('7'), 503, 'ENQUEUE_UNKNOWN'],
    [new StoreUnavailableError('10.0.0.7 is down'), 503, 'STORE_UNAVAILABLE'],
    [new NotFoundException('no such page'), 404, 'NOT_FOUND'],
    [new ForbiddenException('off', { errorCode: 'ADMIN_DISABLED' }), 403, 'ADMIN_DISABLED'],
  ])('answers %p with %i %s', (error, status, code) => {
    expect(problemOf(error)).toMatchObject({ status, code });
  });

  it('names the fields that are wrong', () => {
    const violations = [{ path: 'a.b', messages: ['no'] }];
    expect(problemOf(new PayloadValidationError('t', violations))?.errors).toEqual(violations);
    expect(problemOf(new InvalidOptionError('jobId', '', 'must not be empty'))?.errors).toEqual([
      { path: 'jobId', messages: ['must not be empty'] },
    ]);
  });

  it('tells the client which jobId to repeat when nobody knows whether the job was stored', () => {
    expect(problemOf(new EnqueueUnknownError('7'))).toMatchObject({ jobId: '7', retryAfter: 5 });
  });

  it('does not show where our servers are', () => {
    expect(problemOf(new StoreUnavailableError('10.0.0.7 is down'))?.detail).not.toContain('10.0.0.7');
  });

  it.each([
    new ConfigurationError('queues', [], 'must not be empty'),
    new InternalServerErrorException('oops'),
    new TypeError('x is not a function'),
    'a string',
    undefined,
  ])('leaves %p to be logged', (error) => {
    expect(problemOf(error)).toBeUndefined();
  });
});

describe('problemBody', () => {
  it('is a problem document', () => {
    expect(problemBody({ status: 404, code: 'JOB_NOT_FOUND', detail: 'There is none.' }, '/jobs/7')).toEqual({
      type: 'urn:fenceline:problem:job-not-found',
      title: 'Not Found',
      status: 404,
      code: 'JOB_NOT_FOUND',
      detail: 'There is none.',
      instance: '/jobs/7',
    });
  });
});
