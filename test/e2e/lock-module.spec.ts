/** LockService as the module provides it: injectable, on both stores, and gone without a trace when the app closes. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { Injectable } from '@nestjs/common';
import { JobHandler, LockService, StoreUnavailableError, WithLock, type JobContext } from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { startApp, STORES, type TestApp } from '../support/nest-app.js';
import { openLockService } from '../support/lock-service.js';
import { redisUrl } from '../support/redis.js';

@Injectable()
class Reports {
  runs = 0;

  constructor(private readonly locks: LockService) {}

  @JobHandler('report')
  @WithLock(([payload]: [{ id: number }, JobContext]) => `report:${payload.id}`)
  async report({ id }: { id: number }, _job: JobContext): Promise<{ holder: boolean }> {
    this.runs += 1;
    return { holder: (await this.locks.inspect(`report:${id}`)).holder !== undefined };
  }
}

describe.each(STORES)('LockService in an app: %s', (store) => {
  let app: TestApp | undefined;
  afterEach(() => app?.close());

  it('goes together with a job handler', async () => {
    app = await startApp({ store, providers: [Reports] });
    const { inspector, queue } = app;
    const { jobId } = await queue.enqueue('report', { id: 7 });
    const job = await eventually(async () => {
      const found = await inspector.get(jobId);
      return found.status === 'done' ? found : undefined;
    });
    expect(job.result).toEqual({ holder: true });
  });

  it('gives everything back when the app closes', async () => {
    app = await startApp({ store });
    const locks = app.context.get(LockService);
    const held = await locks.acquire('x', { ttlMs: 60_000 });
    const waiting = locks.acquire('x').catch((thrown: unknown) => thrown);
    await eventually(async () => (await locks.inspect('x')).waiters.length === 1);
    await app.context.close();
    expect(held.signal.reason).toMatchObject({ code: 'LOCK_LOST' });
    expect(await waiting).toBeInstanceOf(StoreUnavailableError);
    await expect(locks.tryAcquire('x')).rejects.toBeInstanceOf(StoreUnavailableError);
  });
});

it('leaves nothing in Redis when the app closes', async () => {
  const app = await startApp({ store: 'redis' });
  const locks = app.context.get(LockService);
  await locks.acquire('x', { ttlMs: 60_000 });
  await app.context.close();
  const outside = await openLockService(redisUrl(), app.prefix);
  expect(await outside.locks.inspect('x')).toEqual({ name: 'x', holder: undefined, waiters: [] });
  await outside.close();
  await app.close();
});
