/** Workers that stand still past their lease and then go on as if nothing had happened. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { LeaseHealthIndicator } from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { startApp, type TestApp } from '../support/nest-app.js';
import { keysOf, openRedis } from '../support/redis.js';
import { WorkerChildren } from '../support/worker-child.js';

jest.setTimeout(30_000);

const LEASE_MS = 500;
const QUEUES = [{ name: 'jobs', leaseMs: LEASE_MS, concurrency: 5 }];
const MODULE = { queues: QUEUES, maintenance: { reapIntervalMs: 1_000 } };

describe('a worker that stands still past its lease', () => {
  let app: TestApp;
  let folder: string;
  const children = new WorkerChildren(() => ({ prefix: app.prefix, module: MODULE }));

  beforeEach(async () => {
    folder = mkdtempSync(join(tmpdir(), 'fenceline-pause-'));
    app = await startApp({ options: { worker: false, queues: QUEUES } });
  });
  afterEach(async () => {
    await children.killAll();
    await app.close();
    rmSync(folder, { recursive: true });
  });

  // OptimalBits/bull#308
  it('stopped by SIGSTOP: what it returns later is refused, counted and seen, and the second result stays', async () => {
    const paused = await children.start();
    const { jobId } = await app.queue.enqueue('hold', { onAbort: 'return' });
    const first = await paused.started(jobId);
    paused.kill('SIGSTOP');

    const heir = await children.start();
    const second = await heir.started(jobId);
    expect(second.token).toBeGreaterThan(first.token);
    heir.finish(jobId);
    await heir.emitted('done', jobId);

    paused.kill('SIGCONT');
    expect(await paused.aborted(jobId)).toBe('LEASE_LOST');
    await paused.emitted('stale_refused', jobId);
    expect(await app.inspector.get(jobId)).toMatchObject({
      status: 'done',
      attempt: 2,
      fencingToken: second.token,
      result: { by: heir.pid },
    });
    expect([...paused.events('done', jobId), ...heir.events('done', jobId)]).toHaveLength(1);
    expect(paused.events('lost', jobId)).toHaveLength(1);
    expect((await app.inspector.snapshot()).lifetime).toMatchObject({
      done: 1,
      lost_leases: 1,
      stale_refused: 1,
    });
    // Seen from a process that had no part in it.
    expect(await app.context.get(LeaseHealthIndicator).isHealthy('leases')).toMatchObject({
      leases: { status: 'degraded', queues: { jobs: { lostLeases: 1, staleRefused: 1 } } },
    });
  });

  // OptimalBits/bull#1416
  it('stopped by its own handler: nothing of a removed job is recreated, and its id is free', async () => {
    const untilFile = join(folder, 'go on');
    const blocked = await children.start();
    const { jobId } = await app.queue.enqueue(
      'block',
      { untilFile, atLeastMs: 3 * LEASE_MS },
      { jobId: 'the-id' },
    );
    await blocked.started(jobId);

    const heir = await children.start();
    await heir.emitted('done', jobId);
    await app.admin.remove(jobId);
    writeFileSync(untilFile, '');

    await blocked.emitted('stale_refused', jobId);
    expect(await blocked.aborted(jobId)).toBe('LEASE_LOST');
    expect([...blocked.events('done', jobId), ...heir.events('done', jobId)]).toHaveLength(1);
    const redis = openRedis();
    const keys = await keysOf(redis, app.prefix);
    const processing = await redis.zcard(`${app.prefix}:{jobs}:processing`);
    redis.disconnect();
    expect(keys.filter((key) => key.includes(jobId) || key.includes(':held:'))).toEqual([]);
    expect(processing).toBe(0);

    const again = await app.queue.enqueue('quick', {}, { jobId });
    expect(again).toEqual({ jobId, status: 'queued', duplicate: false });
    await eventually(async () => (await app.inspector.get(jobId)).status === 'done');
    expect(await app.inspector.get(jobId)).toMatchObject({ attempt: 1, type: 'quick' });
  });
});
