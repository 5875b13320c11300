/** A partition that does not answer costs the jobs of that partition their leases, and no others. */
import { expect, it } from '@jest/globals';
import { JobEvents } from '@fenceline/nestjs';
import { StoreUnavailableError } from '#lib/errors/errors.js';
import { newPartitionedJobId } from '#lib/job/partition.js';
import { resolveOptions } from '#lib/options/resolve-options.js';
import { MemoryJobStore } from '#lib/store/memory/memory-job-store.js';
import { PartitionedJobStore } from '#lib/store/partitioned-job-store.js';
import { Attempt } from '#lib/worker/attempt.js';
import { LeaseKeeper } from '#lib/worker/lease-keeper.js';
import { newJob } from '../contract/contract-store.js';
import { eventually } from '../support/eventually.js';

const LEASE_MS = 300;

class Partition extends MemoryJobStore {
  isAway = false;

  override renew(...args: Parameters<MemoryJobStore['renew']>): ReturnType<MemoryJobStore['renew']> {
    return this.isAway ? Promise.reject(new StoreUnavailableError('it is away')) : super.renew(...args);
  }
}

it('keeps the leases of the partitions that answer', async () => {
  const [queue] = resolveOptions({ queues: [{ name: 'jobs', partitions: 2, leaseMs: LEASE_MS }] }).queues;
  const parts = [0, 1].map((i) => new Partition({ queue: `jobs:${i}`, retention: queue.retention }));
  const store = new PartitionedJobStore(parts);
  const info = { workerId: 'w', host: 'test', pid: 1, slots: 2 };
  const keeper = new LeaseKeeper(store, queue, info, new JobEvents(() => {}), { onRunaway: () => {} });
  await keeper.start();
  try {
    for (const partition of [0, 1]) {
      await store.enqueue([newJob(newPartitionedJobId(partition), { partition })]);
    }
    const sentAt = performance.now();
    const call = { workerId: 'w', lane: 0, number: 1, settlements: [], claimMax: 2, leaseMs: LEASE_MS };
    const { claimed } = await store.exchange(call);
    const claim = { name: '0:1', sentAt, storeNow: 0, jobsLeft: claimed.length };
    const attempts = claimed.map((job) => new Attempt(job, claim, queue, 'w', keeper.deadlineFrom(sentAt)));
    for (const attempt of attempts) keeper.hold(attempt);
    const away = parts[1];
    if (!away) throw new Error('there are two partitions');
    away.isAway = true;

    const at = (partition: number) => attempts.find(({ jobId }) => jobId.endsWith(`-${partition}`));
    await eventually(() => at(1)?.isLost);
    expect(performance.now() - sentAt).toBeLessThan(2 * LEASE_MS);
    // Longer than a lease: the other one was renewed again and again.
    await eventually(() => performance.now() > sentAt + 3 * LEASE_MS);
    expect(at(0)?.isLost).toBe(false);
  } finally {
    keeper.stop();
  }
});
