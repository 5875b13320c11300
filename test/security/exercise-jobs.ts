/** Everything that workers, maintenance and administration do with jobs. */
import { JOB_STATUSES } from '#lib/job/job.js';
import {
  LONG_MS,
  newJob,
  once,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  unique,
  worker,
  type StoreDriver,
} from '../contract/contract-store.js';

const PATIENCE_MS = 300;

/** Every outcome, and a claim whose reply was lost. */
export async function attempt(jobs: StoreDriver): Promise<void> {
  const ids = Object.keys(OUTCOMES);
  await jobs.store.enqueue(ids.map((id) => newJob(`attempt-${id}`, { priority: 0 })));
  const workerId = 'attempts';
  const claimed = await jobs.claim(ids.length + 1, { workerId, number: 1 });
  await jobs.claim(ids.length + 1, { workerId, number: 1 });
  const [one] = claimed;
  if (one) await jobs.store.writeCheckpoint(one.jobId, one.token, '{"at":1}');
  await jobs.store.readCheckpoint('any');
  await jobs.store.renew(worker(workerId), claimed, LONG_MS);
  for (const [i, outcome] of Object.values(OUTCOMES).entries()) {
    const job = claimed[i];
    if (job) await jobs.settle(job, outcome);
  }
  await jobs.store.signOff(workerId);
}

/** Jobs that wait for each other, and one that ends with the result of another. */
export async function waitForKeys(jobs: StoreDriver): Promise<void> {
  const keys = { resource: 'busy', idempotency: once('done once') };
  const ids = ['keyed-1', 'keyed-2', 'keyed-3'];
  await jobs.store.enqueue(ids.map((id) => newJob(id, { priority: 0, keys })));
  const [holder] = await jobs.claim(3);
  if (!holder) throw new Error('nothing was claimed');
  await jobs.settle(holder, OUTCOMES.done);
  await jobs.claim(3);
}

/** Entries in a list that no longer count, of jobs that came again. */
export async function leaveEntries(jobs: StoreDriver): Promise<void> {
  for (const id of ['gone', 'back', 'cancelled']) await jobs.enqueue(id, { priority: 1 });
  await jobs.store.remove('gone');
  await jobs.store.remove('back');
  await jobs.store.cancel('cancelled');
  await jobs.enqueue('back', { priority: 1 });
  await jobs.idsOf('queued');
  await jobs.claim(1);
}

export async function administer(jobs: StoreDriver): Promise<void> {
  const { store } = jobs;
  await store.pause();
  await store.resume();
  const keys = { dedup: unique('redriven'), idempotency: once('redriven') };
  await store.enqueue([newJob('redriven', { priority: 0, keys })]);
  await jobs.settle(await jobs.claimOne(), OUTCOMES.dead);
  await store.redrive('redriven');
  const running = await jobs.claimOne();
  await store.cancel(running.jobId);
  for (const status of JOB_STATUSES) await jobs.idsOf(status);
  await store.read(['redriven', running.jobId]);
  await store.snapshot();
  await store.mark();
  await store.recent(['done'], LONG_MS);
  await store.count('runaways', 1);
  await store.wake();
}

export async function maintain(jobs: StoreDriver): Promise<void> {
  const { store } = jobs;
  const keys = { resource: 'reaped', idempotency: once('reaped') };
  await store.enqueue([newJob('reaped', { priority: 0, keys })]);
  await jobs.claim(1, { leaseMs: 1 });
  await jobs.enqueue('due', { delayMs: SHORT_MS });
  await jobs.advance(PASSED_MS);
  await store.promote(10);
  await store.reap(1, 10);
  await store.prune(10);
}

export async function hearWakeUp(jobs: StoreDriver): Promise<void> {
  const listener = jobs.store.listenForWork();
  try {
    await jobs.store.wake();
    if ((await listener.wait(PATIENCE_MS)) !== 'woken') throw new Error('it heard nothing');
  } finally {
    await listener.close();
  }
}
