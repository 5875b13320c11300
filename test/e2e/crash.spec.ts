/** Worker processes that die in the middle of a job, killed from outside or by the job itself. */
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Job } from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { startApp, type TestApp } from '../support/nest-app.js';
import { WorkerChildren } from '../support/worker-child.js';

jest.setTimeout(30_000);

const LEASE_MS = 1_000;
const REAP_INTERVAL_MS = 1_000;
/** For a machine that does other things too. */
const SLACK_MS = 1_000;

const QUEUES = [{ name: 'jobs', leaseMs: LEASE_MS, concurrency: 5 }];
const MODULE = {
  queues: QUEUES,
  maintenance: { reapIntervalMs: REAP_INTERVAL_MS },
  shutdownTimeoutMs: 500,
};

describe('a worker process that dies', () => {
  let app: TestApp;
  const children = new WorkerChildren(() => ({ prefix: app.prefix, module: MODULE }));

  beforeEach(async () => {
    app = await startApp({ options: { worker: false, queues: QUEUES } });
  });
  afterEach(async () => {
    await children.killAll();
    await app.close();
  });

  const inStatus = (jobId: string, status: string): Promise<Job> =>
    eventually(async () => {
      const job = await app.inspector.get(jobId);
      return job.status === status && job;
    });

  it('costs one lease: another process finishes its jobs', async () => {
    const doomed = await children.start();
    const jobIds = ['one', 'two', 'three'];
    for (const jobId of jobIds) await app.queue.enqueue('hold', {}, { jobId });
    const firstStarts = await Promise.all(jobIds.map((jobId) => doomed.started(jobId)));
    const heir = await children.start();

    doomed.kill('SIGKILL');
    const killedAt = performance.now();
    const secondStarts = await Promise.all(jobIds.map((jobId) => heir.started(jobId)));
    expect(performance.now() - killedAt).toBeLessThan(LEASE_MS + REAP_INTERVAL_MS + SLACK_MS);

    for (const [i, jobId] of jobIds.entries()) {
      heir.finish(jobId);
      const job = await inStatus(jobId, 'done');
      const token = secondStarts[i]?.token;
      expect(job).toMatchObject({ attempt: 2, fencingToken: token, result: { by: heir.pid } });
      expect(token).toBeGreaterThan(firstStarts[i]?.token ?? Infinity);
      expect(heir.starts(jobId)).toHaveLength(1);
    }
    expect(await app.inspector.snapshot()).toMatchObject({
      counts: { scheduled: 0, queued: 0, processing: 0, retrying: 0, done: 3, dead: 0, cancelled: 0 },
      lifetime: { enqueued: 3, done: 3, lost_leases: 3, stale_refused: 0, retried: 0 },
    });
  });

  // sidekiq/sidekiq#4633
  it('buries a job that kills its process, after exactly its attempts; clean exits are no strike', async () => {
    const { jobId } = await app.queue.enqueue('hold', {}, { maxAttempts: 2 });
    const startedAs: number[] = [];
    const runOnce = async (how: 'crashes' | 'exits cleanly'): Promise<void> => {
      const child = await children.start({ crashes: how === 'crashes' });
      startedAs.push((await child.started(jobId)).attempt);
      if (how === 'exits cleanly') child.kill('SIGTERM');
      const ends = { crashes: { code: null, signal: 'SIGKILL' }, 'exits cleanly': { code: 0, signal: null } };
      expect(await child.exited).toEqual(ends[how]);
    };
    await runOnce('crashes');
    await runOnce('exits cleanly');
    await runOnce('crashes');
    expect(startedAs).toEqual([1, 2, 2]);

    const survivor = await children.start({ crashes: true });
    const job = await inStatus(jobId, 'dead');
    expect(job).toMatchObject({
      deadReason: 'attempts_exhausted',
      lastError: { code: 'ATTEMPTS_EXHAUSTED' },
    });
    expect(survivor.starts(jobId)).toEqual([]);
    expect((await app.inspector.snapshot()).lifetime).toMatchObject({ lost_leases: 2, released: 1, dead: 1 });
  });
});
