/**
 * A partitioned queue keeps the contract of a job store, on either store, for jobs that are in one partition; and what
 * only it can be held to: its jobs are found wherever they are, and no partition starves.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { DEFAULTS } from '#lib/options/defaults.js';
import type { JobStore } from '#lib/store/job-store.js';
import { MemoryJobStore } from '#lib/store/memory/memory-job-store.js';
import type { NewJob } from '#lib/store/new-job.js';
import { PartitionedJobStore } from '#lib/store/partitioned-job-store.js';
import { openRedisStores } from '../support/redis-store.js';
import { describeJobStoreContract } from './job-store.contract.js';

/** All jobs go to the first partition, whatever their ids and keys are: order holds within a partition only. */
class OneOfThree extends PartitionedJobStore {
  constructor(partitions: readonly JobStore[]) {
    // The suite expects a job to be found at once, with a clock that is not the real one.
    super(partitions, { emptyForMs: 0 });
  }

  override enqueue(jobs: readonly NewJob[]): ReturnType<JobStore['enqueue']> {
    return super.enqueue(jobs.map((job) => ({ ...job, partition: 0 })));
  }
}

describeJobStoreContract('partitioned, memory', async (options) => {
  let now = 1_000_000_000_000;
  const retention = { ...DEFAULTS.queue.retention, ...options.retention };
  const partitions = [0, 1, 2].map(
    (i) => new MemoryJobStore({ queue: `q:${i}`, retention, clock: () => now }),
  );
  return {
    store: new OneOfThree(partitions),
    advance: async (ms) => {
      now += ms;
    },
    close: async () => {},
  };
});

describeJobStoreContract('partitioned, redis', async ({ retention = {} }) => {
  const { stores, close } = await openRedisStores(['jobs:0', 'jobs:1', 'jobs:2'], retention);
  return { store: new OneOfThree(stores), advance: (ms) => sleep(ms), close };
});
