/** Workers that stand still past their lease and then go on as if nothing had happened. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { JobEvents, JobHandler, LeaseHealthIndicator, type Job, type JobContext } from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { startApp, type TestApp } from '../support/nest-app.js';
import { keysOf, openRedis } from '../support/redis.js';
import { WorkerChildren } from '../support/worker-child.js';

jest.setTimeout(30_000);

const LEASE_MS = 500;
const OPTIONS = {
  queues: [{ name: 'jobs', leaseMs: LEASE_MS, concurrency: 5 }],
  maintenance: { reapIntervalMs: 1_000 },
};
const HEIRS_RESULT = 'by the heir';

/** The worker that takes over; it runs in the process of the test. */
@Injectable()
class Heir {
  readonly tokens: number[] = [];

  @JobHandler('hold')
  hold(_payload: unknown, job: JobContext): string {
    this.tokens.push(job.fencingToken);
    return HEIRS_RESULT;
  }

  @JobHandler('block')
  block(_payload: unknown, job: JobContext): string {
    return this.hold(undefined, job);
  }
}

describe('a worker that stands still past its lease', () => {
  /** Only looks. */
  let observer: TestApp;
  let heirs: TestApp | undefined;
  let folder: string;
  const children = new WorkerChildren(() => ({ prefix: observer.prefix, module: OPTIONS }));

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'fenceline-pause-'));
    observer = await startApp({ options: { ...OPTIONS, worker: false } });
  });
  afterEach(async () => {
    await children.killAll();
    await heirs?.close();
    heirs = undefined;
    await observer.close();
    rmSync(folder, { recursive: true });
  });

  /** Lets another worker finish the job. Answers its token and the `done` events that it emits from now on. */
  async function finishElsewhere(jobId: string): Promise<{ token: number; doneEvents: unknown[] }> {
    heirs = await startApp({ providers: [Heir], options: { ...OPTIONS, prefix: observer.prefix } });
    const doneEvents: unknown[] = [];
    heirs.context.get(JobEvents).on('done', (event) => void doneEvents.push(event));
    await inStatus(jobId, 'done');
    const [token = 0] = heirs.context.get(Heir).tokens;
    return { token, doneEvents };
  }

  const inStatus = (jobId: string, status: string): Promise<Job> =>
    eventually(
      async () => {
        const job = await observer.inspector.get(jobId);
        return job.status === status && job;
      },
      { what: `${jobId} ${status}` },
    );

  // OptimalBits/bull#308
  it('stopped by SIGSTOP: what it returns later is refused, counted and seen, and the second result stays', async () => {
    const paused = await children.start();
    const { jobId } = await observer.queue.enqueue('hold', { onAbort: 'return' });
    const first = await paused.started(jobId);
    paused.kill('SIGSTOP');
    const { token, doneEvents } = await finishElsewhere(jobId);
    expect(token).toBeGreaterThan(first.token);

    paused.kill('SIGCONT');
    expect(await paused.aborted(jobId)).toBe('LEASE_LOST');
    await paused.emitted('stale_refused', jobId);
    expect(await observer.inspector.get(jobId)).toMatchObject({
      status: 'done',
      attempt: 2,
      fencingToken: token,
      result: HEIRS_RESULT,
    });
    expect([...paused.events('done', jobId), ...doneEvents]).toEqual([expect.objectContaining({ jobId })]);
    expect(paused.events('lost', jobId)).toHaveLength(1);
    expect((await observer.inspector.snapshot()).lifetime).toMatchObject({
      done: 1,
      lost_leases: 1,
      stale_refused: 1,
    });
    // Seen from an app that had no part in it.
    expect(await observer.context.get(LeaseHealthIndicator).isHealthy('leases')).toMatchObject({
      leases: { status: 'degraded', queues: { jobs: { lostLeases: 1, staleRefused: 1 } } },
    });
  });

  // OptimalBits/bull#1416
  it('stopped by its own handler: nothing of a removed job is recreated, and its id is free', async () => {
    const untilFile = join(folder, 'go on');
    const blocked = await children.start();
    const payload = { untilFile, atLeastMs: 3 * LEASE_MS };
    const { jobId } = await observer.queue.enqueue('block', payload, { jobId: 'the-id' });
    await blocked.started(jobId);
    const { doneEvents } = await finishElsewhere(jobId);
    await observer.admin.remove(jobId);
    writeFileSync(untilFile, '');

    await blocked.emitted('stale_refused', jobId);
    expect(await blocked.aborted(jobId)).toBe('LEASE_LOST');
    expect([...blocked.events('done', jobId), ...doneEvents]).toHaveLength(1);
    const redis = openRedis();
    const keys = await keysOf(redis, observer.prefix);
    const processing = await redis.zcard(`${observer.prefix}:{jobs}:processing`);
    redis.disconnect();
    expect(keys.filter((key) => key.includes(jobId) || key.includes(':held:'))).toEqual([]);
    expect(processing).toBe(0);

    const again = await observer.queue.enqueue('hold', {}, { jobId });
    expect(again).toEqual({ jobId, status: 'queued', duplicate: false });
    await eventually(async () => {
      // Either worker may have taken it.
      blocked.finish(jobId);
      return (await observer.inspector.get(jobId)).status === 'done';
    });
    expect(await observer.inspector.get(jobId)).toMatchObject({ attempt: 1, type: 'hold' });
  });
});
