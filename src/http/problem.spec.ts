import {
  ForbiddenException,
  InternalServerErrorException,
  NotFoundException,
  ServiceUnavailableException,
} from '@nestjs/common';
import { describe, expect, it } from '@jest/globals';
import {
  ConfigurationError,
  DedupTypeError,
  DuplicateJobError,
  EnqueueRefusedError,
  EnqueueUnknownError,
  IdempotencyBusyError,
  IdempotencyConflictError,
  IdempotencyLostError,
  IdempotencyUnreplayableError,
  IllegalTransitionError,
  InvalidOptionError,
  JobNotFoundError,
  KeyTakenError,
  LockLostError,
  LockTimeoutError,
  PayloadTooLargeError,
  PayloadValidationError,
  StaleFenceError,
  StoreUnavailableError,
} from '@fenceline/nestjs';
import { problemOf } from './problem-of.js';
import { problemBody } from './problem.js';

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
    [new DuplicateJobError('email:42', '7'), 409, 'DUPLICATE_JOB'],
    [new DedupTypeError('email:42', 't', '7'), 409, 'DEDUP_TYPE'],
    [new KeyTakenError('7', 'dedup', '8'), 409, 'KEY_TAKEN'],
    [new IdempotencyConflictError('k'), 422, 'IDEMPOTENCY_CONFLICT'],
    [new IdempotencyBusyError('k', 1_500), 409, 'IDEMPOTENCY_BUSY'],
    [new IdempotencyLostError('k', 3, 'it was late'), 409, 'IDEMPOTENCY_LOST'],
    [new IdempotencyUnreplayableError('k', 'too large'), 409, 'IDEMPOTENCY_UNREPLAYABLE'],
    [new LockTimeoutError('invoice:7', 50), 409, 'LOCK_TIMEOUT'],
    [new LockLostError('invoice:7', 3, 'it was late'), 409, 'LOCK_LOST'],
    [new StaleFenceError('invoice 7', 3, 4), 409, 'STALE_FENCE'],
    [new ServiceUnavailableException('away', { errorCode: 'X_UNAVAILABLE' }), 503, 'X_UNAVAILABLE'],
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

  it.each([
    [new IdempotencyBusyError('k', 1_500), 2],
    [new LockTimeoutError('invoice:7', 50), 1],
    [new LockLostError('invoice:7', 3, 'it was late'), 1],
    [new StaleFenceError('invoice 7', 3, 4), 1],
    [new IdempotencyLostError('k', 3, 'it was late'), 1],
    [new ServiceUnavailableException('away', { errorCode: 'X_UNAVAILABLE' }), 5],
  ])('says after how many seconds to try again: %p', (error, seconds) => {
    expect(problemOf(error)?.retryAfter).toBe(seconds);
  });

  it('names the job that stands in the way', () => {
    expect(problemOf(new DuplicateJobError('email:42', '7'))?.jobId).toBe('7');
    expect(problemOf(new DedupTypeError('email:42', 't', '7'))?.jobId).toBe('7');
  });

  it('does not show what our locks, keys and tokens are called', () => {
    const errors = [
      new DuplicateJobError('our-key', '7'),
      new DedupTypeError('our-key', 't', '7'),
      new IdempotencyConflictError('our-key'),
      new IdempotencyBusyError('our-key', 1),
      new LockTimeoutError('our-key', 50),
      new LockLostError('our-key', 3, 'it was late'),
      new StaleFenceError('our-key', 3, 4),
    ];
    for (const error of errors) expect(problemOf(error)?.detail).not.toContain('our-key');
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
