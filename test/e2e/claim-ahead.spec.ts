/** A worker whose handlers are fast holds a few jobs more than it has slots. Nobody may notice but the clock. */
import { Injectable } from '@nestjs/common';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { JobHandler, type JobContext } from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { Gate } from '../support/gate.js';
import { QUICK_QUEUE, startApp, STORES, type StoreKind, type TestApp } from '../support/nest-app.js';

jest.setTimeout(60_000);

const FAST_JOBS = 2_000;

@Injectable()
class Handlers {
  readonly started: string[] = [];
  atOnce = 0;
  mostAtOnce = 0;
  private readonly gates = new Map<string, Gate>();

  @JobHandler('fast')
  async fast(_payload: unknown, job: JobContext): Promise<void> {
    this.atOnce += 1;
    this.mostAtOnce = Math.max(this.mostAtOnce, this.atOnce);
    this.started.push(job.id);
    await Promise.resolve();
    this.atOnce -= 1;
  }

  @JobHandler('slow')
  async slow(_payload: unknown, job: JobContext): Promise<void> {
    this.started.push(job.id);
    await this.gateOf(job.id).passed();
  }

  finish(jobId: string): void {
    this.gateOf(jobId).open();
  }

  private gateOf(jobId: string): Gate {
    const gate = this.gates.get(jobId) ?? new Gate();
    this.gates.set(jobId, gate);
    return gate;
  }
}

const apps: TestApp[] = [];
afterEach(async () => {
  for (const app of apps.splice(0).toReversed()) await app.close();
});

async function open(store: StoreKind, options: { prefix?: string; worker?: boolean } = {}): Promise<TestApp> {
  const queues = [{ ...QUICK_QUEUE, concurrency: 1, leaseMs: 20_000 }];
  const app = await startApp({ store, providers: [Handlers], options: { queues, ...options } });
  apps.push(app);
  return app;
}

const many = (type: string, prefix: string, count: number) =>
  Array.from({ length: count }, (_, i) => ({
    job: type,
    payload: {},
    options: { jobId: `${prefix}-${i}` },
  }));

describe.each(STORES)('claiming ahead on %s', (store) => {
  it('never runs more at once than there are slots, and keeps the order', async () => {
    const app = await open(store);
    const handlers = app.context.get(Handlers);
    await app.queue.enqueueMany(many('fast', 'fast', FAST_JOBS));
    await eventually(async () => (await app.inspector.snapshot()).lifetime.done === FAST_JOBS);
    expect(handlers.mostAtOnce).toBe(1);
    expect(handlers.started).toEqual(many('fast', 'fast', FAST_JOBS).map(({ options }) => options.jobId));
  });
});

it('gives jobs back, uncounted and in their order, when one before them takes long', async () => {
  const app = await open('redis');
  const handlers = app.context.get(Handlers);
  // On a busy machine a worker may find its handlers too slow to claim ahead of them; then once more.
  for (let round = 1; (await app.inspector.snapshot()).lifetime.released === 0; round += 1) {
    expect(round).toBeLessThanOrEqual(10);
    const slow = `slow-${round}`;
    const behind = many('fast', `behind-${round}`, 50);
    await app.queue.enqueueMany([
      ...many('fast', `before-${round}`, FAST_JOBS),
      { job: 'slow', payload: {}, options: { jobId: slow } },
      ...behind,
    ]);
    await eventually(() => handlers.started.includes(slow));
    await eventually(async () => {
      const { counts } = await app.inspector.snapshot();
      return counts.processing === 1 && counts.queued === 50;
    });
    const [next] = behind;
    expect(await app.inspector.get(next?.options.jobId ?? '')).toMatchObject({
      status: 'queued',
      attempt: 0,
    });

    handlers.finish(slow);
    await eventually(async () => (await app.inspector.snapshot()).lifetime.done === round * (FAST_JOBS + 51));
    expect(handlers.started.slice(-50)).toEqual(behind.map(({ options }) => options.jobId));
  }
  expect((await app.inspector.snapshot()).lifetime).toMatchObject({ lost_leases: 0, stale_refused: 0 });
});

it('a worker that shuts down gives back what it claimed ahead', async () => {
  const app = await open('redis');
  const outside = await open('redis', { prefix: app.prefix, worker: false });
  const handlers = app.context.get(Handlers);
  await app.queue.enqueueMany([
    ...many('fast', 'before', FAST_JOBS),
    ...many('slow', 'slow', 1),
    ...many('fast', 'behind', 50),
  ]);
  await eventually(() => handlers.started.includes('slow-0'));
  const closing = app.context.close();
  await eventually(async () => (await outside.inspector.snapshot()).counts.queued === 50);
  handlers.finish('slow-0');
  await closing;
  expect((await outside.inspector.snapshot()).counts).toMatchObject({ queued: 50, processing: 0 });
  expect(await outside.inspector.get('behind-0')).toMatchObject({ status: 'queued', attempt: 0 });
});
