/** How workers stop: in bounded time, with nothing left behind. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Injectable, type OnModuleDestroy } from '@nestjs/common';
import { JobEvents, JobHandler, QueueService, type EnqueueReply, type JobContext } from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { Gate } from '../support/gate.js';
import { startApp, STORES, type TestApp } from '../support/nest-app.js';
import { deletePrefix, newPrefix, openRedis, redisUrl } from '../support/redis.js';
import { fixture, WorkerChildren } from '../support/worker-child.js';

jest.setTimeout(30_000);

const SHUTDOWN_TIMEOUT_MS = 2_000;
/** For the rest of the process to end, on a machine that does other things too. */
const SLACK_MS = 1_000;

describe('SIGTERM under load', () => {
  let app: TestApp;
  const children = new WorkerChildren(() => ({
    prefix: app.prefix,
    module: { queues: [{ name: 'jobs', concurrency: 10 }], shutdownTimeoutMs: SHUTDOWN_TIMEOUT_MS },
  }));

  beforeEach(async () => {
    app = await startApp({ options: { worker: false } });
  });
  afterEach(async () => {
    await children.killAll();
    await app.close();
  });

  it('ends in time, finishes what it can and gives the rest back uncounted, in front', async () => {
    const groups = {
      finishing: ['finishing-1', 'finishing-2', 'finishing-3'],
      obedient: ['obedient-1', 'obedient-2', 'obedient-3'],
      deaf: ['deaf-1', 'deaf-2', 'deaf-3', 'deaf-4'],
      waiting: ['waiting-1', 'waiting-2', 'waiting-3'],
    };
    const child = await children.start();
    for (const [group, jobIds] of Object.entries(groups)) {
      const type = group === 'waiting' ? 'quick' : 'hold';
      for (const jobId of jobIds) {
        await app.queue.enqueue(type, { onAbort: group === 'deaf' ? 'ignore' : 'throw' }, { jobId });
      }
    }
    const running = [...groups.finishing, ...groups.obedient, ...groups.deaf];
    await Promise.all(running.map((jobId) => child.started(jobId)));

    const startedAt = performance.now();
    await child.terminate();
    for (const jobId of groups.finishing) child.finish(jobId);
    expect(await child.exited).toEqual({ code: 0, signal: null });
    expect(performance.now() - startedAt).toBeLessThan(SHUTDOWN_TIMEOUT_MS + SLACK_MS);

    const { counts, lifetime } = await app.inspector.snapshot();
    expect(counts).toMatchObject({ processing: 0, done: 3, queued: 10, retrying: 0, dead: 0 });
    expect(lifetime).toMatchObject({ done: 3, released: 7, runaways: 4, lost_leases: 0, stale_refused: 0 });
    const { jobs } = await app.inspector.list({ status: 'queued' });
    const released = [...groups.obedient, ...groups.deaf];
    const ids = jobs.map(({ id }) => id);
    expect(new Set(ids.slice(0, released.length))).toEqual(new Set(released));
    expect(ids.slice(released.length)).toEqual(groups.waiting);
    expect(jobs.filter(({ attempt }) => attempt !== 0)).toEqual([]);
    for (const jobId of groups.waiting) expect(child.starts(jobId)).toEqual([]);
  });
});

@Injectable()
class Mailer implements OnModuleDestroy {
  isOpen = true;

  onModuleDestroy(): void {
    this.isOpen = false;
  }
}

@Injectable()
class Handlers {
  isRunning = false;
  readonly closing = new Gate();
  followUp: EnqueueReply | undefined;

  constructor(
    private readonly queue: QueueService,
    private readonly mailer: Mailer,
  ) {}

  @JobHandler('draining')
  async draining(_payload: unknown, job: JobContext): Promise<{ mailerWasOpen: boolean }> {
    this.isRunning = true;
    await this.closing.passed();
    await job.checkpoint.set('nearly done');
    this.followUp = await this.queue.enqueue('draining', {}, { jobId: 'follow-up' });
    return { mailerWasOpen: this.mailer.isOpen };
  }
}

describe.each(STORES)('closing an app on %s', (store) => {
  let app: TestApp;

  it('lets handlers enqueue and use the other providers while they finish', async () => {
    app = await startApp({ store, providers: [Handlers, Mailer] });
    const handlers = app.context.get(Handlers);
    const done: unknown[] = [];
    app.context.get(JobEvents).on('done', ({ jobId }) => void done.push(jobId));
    await app.queue.enqueue('draining', {}, { jobId: 'first' });
    await eventually(() => handlers.isRunning);

    const closed = app.close();
    handlers.closing.open();
    await closed;
    expect(handlers.followUp).toEqual({ jobId: 'follow-up', status: 'queued', duplicate: false });
    expect(done).toEqual(['first']);
    expect(app.context.get(Mailer).isOpen).toBe(false);
  });

  it('leaves nothing open: the process ends by itself', async () => {
    const prefix = newPrefix();
    const url = store === 'memory' ? store : redisUrl();
    const child = spawn(process.execPath, [fixture('closing-process'), url, prefix], {
      stdio: ['ignore', 'pipe', 'pipe'],
      timeout: 15_000,
      killSignal: 'SIGKILL',
    });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    }
    const [code, signal] = await once(child, 'close');
    const redis = openRedis();
    await deletePrefix(redis, prefix);
    redis.disconnect();
    expect({ output, code, signal }).toEqual({ output: 'closed\n', code: 0, signal: null });
  });
});
