import { describe, expect, it } from '@jest/globals';
import { PartitionConflictError } from '../errors/key-errors.js';
import { newPartitionedJobId, partitionOfKey } from '../job/partition.js';
import type { EnqueueOptions } from '../options/options.js';
import { PartitionRouter } from './partition-router.js';

const PARTITIONS = 8;
const of = (key: string): number => partitionOfKey(key, PARTITIONS);

/** A key of the same, or of another partition than the given one. */
function keyAt(partition: number, wanted: 'same' | 'other'): string {
  for (let i = 0; ; i++) if ((of(`key-${i}`) === partition) === (wanted === 'same')) return `key-${i}`;
}

describe('PartitionRouter', () => {
  const router = new PartitionRouter(PARTITIONS);

  it('sends jobs without keys to every partition in turn', () => {
    const routes = Array.from({ length: 2 * PARTITIONS }, () => new PartitionRouter(PARTITIONS).route({}));
    expect(new Set(routes).size).toBe(1);
    const one = new PartitionRouter(PARTITIONS);
    const turns = Array.from({ length: 2 * PARTITIONS }, () => one.route({ priority: 1 }));
    expect(turns.toSorted((a, b) => a - b)).toEqual([0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]);
  });

  it.each<[string, EnqueueOptions]>([
    ['partitionKey', { partitionKey: 'k', resourceKey: keyAt(of('k'), 'other') }],
    ['resourceKey', { resourceKey: 'k', idempotencyKey: keyAt(of('k'), 'same') }],
    ['idempotencyKey', { idempotencyKey: 'k', dedup: { key: keyAt(of('k'), 'same') } }],
    ['idempotencyKey.key', { idempotencyKey: { key: 'k' } }],
    ['dedup.key', { dedup: { key: 'k' } }],
    ['jobId', { jobId: 'k' }],
  ])('follows %s', (_option, options) => {
    expect(router.route(options)).toBe(of('k'));
  });

  it.each<[EnqueueOptions]>([
    [{ resourceKey: 'k', idempotencyKey: keyAt(of('k'), 'other') }],
    [{ resourceKey: 'k', dedup: { key: keyAt(of('k'), 'other') } }],
    [{ idempotencyKey: { key: 'k' }, dedup: { key: keyAt(of('k'), 'other') } }],
    [{ resourceKey: 'k', jobId: keyAt(of('k'), 'other') }],
    [{ resourceKey: 'k', jobId: newPartitionedJobId((of('k') + 1) % PARTITIONS) }],
    [{ partitionKey: 'k', jobId: newPartitionedJobId((of('k') + 1) % PARTITIONS) }],
  ])('refuses %j, whose duplicates would not meet', (options) => {
    expect(() => router.route(options)).toThrow(PartitionConflictError);
    expect(() => router.route(options)).toThrow('partitionKey');
  });

  it('sends a job back to where its generated id was made for', () => {
    const id = newPartitionedJobId(of('k'));
    expect(router.route({ jobId: id })).toBe(of('k'));
    expect(router.route({ jobId: id, resourceKey: 'k' })).toBe(of('k'));
    expect(router.route({ jobId: id, partitionKey: 'k' })).toBe(of('k'));
  });
});
