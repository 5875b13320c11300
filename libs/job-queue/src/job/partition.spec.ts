import { describe, expect, it } from '@jest/globals';
import { newPartitionedJobId, partitionInId, partitionOfId, partitionOfKey } from './partition.js';

describe('the partition of a key', () => {
  it('never changes from version to version, or jobs that must meet would not', () => {
    expect(['user:1', 'user:2', '語', ''].map((key) => partitionOfKey(key, 8))).toEqual([7, 2, 0, 4]);
  });

  it.each([2, 3, 8, 16, 256])('spreads keys evenly over %i', (partitions) => {
    const counts = Array.from({ length: partitions }, () => 0);
    const keys = 1_000 * partitions;
    for (let i = 0; i < keys; i++) {
      const partition = partitionOfKey(`user:${i}`, partitions);
      counts[partition] = (counts[partition] ?? 0) + 1;
    }
    expect(Math.min(...counts)).toBeGreaterThan(800);
    expect(Math.max(...counts)).toBeLessThan(1_200);
  });
});

describe('the partition of an id', () => {
  it('is in a generated one', () => {
    const id = newPartitionedJobId(255);
    expect(id.length).toBeLessThanOrEqual(26);
    expect(partitionInId(id, 256)).toBe(255);
    expect(partitionOfId(id, 256)).toBe(255);
  });

  it('of a caller is its hash, also when it looks like a generated one of a queue with more partitions', () => {
    for (const id of ['order-7', newPartitionedJobId(9), `${newPartitionedJobId(1)}1234`]) {
      expect(partitionInId(id, 8)).toBeUndefined();
      expect(partitionOfId(id, 8)).toBe(partitionOfKey(id, 8));
    }
  });
});
