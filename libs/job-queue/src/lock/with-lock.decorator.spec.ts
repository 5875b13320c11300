import 'reflect-metadata';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, Scope, SetMetadata } from '@nestjs/common';
import { ModuleRef, NestFactory } from '@nestjs/core';
import { ConfigurationError } from '../errors/errors.js';
import { LockTimeoutError } from '../errors/lock-errors.js';
import { JobQueueModule } from '../nest/job-queue.module.js';
import { LockService } from './lock.service.js';
import { currentLease, WithLock } from './with-lock.decorator.js';

@Injectable()
class Invoices {
  running = 0;
  most = 0;

  @SetMetadata('below', 1)
  @WithLock(([id]: [string]) => `invoice:${id}`, { ttlMs: 5_000 })
  @SetMetadata('above', 2)
  async sync(id: string): Promise<string> {
    this.running += 1;
    this.most = Math.max(this.most, this.running);
    await new Promise(setImmediate);
    this.running -= 1;
    return `${id} under ${currentLease()?.name}`;
  }

  @WithLock('report', { waitMs: 0 })
  async report(): Promise<number | undefined> {
    return currentLease()?.fencingToken;
  }
}

@Injectable({ scope: Scope.TRANSIENT })
class Transient extends Invoices {}

@Module({
  imports: [JobQueueModule.forRoot({ connection: 'memory', worker: false, logging: false })],
  providers: [Invoices, Transient],
})
class TestModule {}

describe('@WithLock', () => {
  const start = () => NestFactory.createApplicationContext(TestModule, { logger: false });
  let app: Awaited<ReturnType<typeof start>>;
  beforeEach(async () => {
    app = await start();
  });
  afterEach(() => app.close());

  it('lets one call in at a time per name, made from the arguments', async () => {
    const invoices = app.get(Invoices);
    const answers = await Promise.all(['7', '7', '7'].map((id) => invoices.sync(id)));
    expect(answers).toEqual(Array.from({ length: 3 }, () => '7 under invoice:7'));
    expect(invoices.most).toBe(1);
    await Promise.all([invoices.sync('8'), invoices.sync('9')]);
    expect(invoices.most).toBe(2);
    expect(currentLease()).toBeUndefined();
  });

  it('throws what acquiring throws', async () => {
    await app.get(LockService).acquire('report');
    await expect(app.get(Invoices).report()).rejects.toBeInstanceOf(LockTimeoutError);
  });

  it('gives the method its fencing token', async () => {
    const tokens = [await app.get(Invoices).report(), await app.get(Invoices).report()];
    expect(Number(tokens[1])).toBeGreaterThan(Number(tokens[0]));
  });

  it('works on transient providers, inherited methods and classes made later', async () => {
    const transient = await app.resolve(Transient);
    await expect(transient.sync('7')).resolves.toBe('7 under invoice:7');
    const created = await app.get(ModuleRef).create(Invoices);
    await expect(created.sync('8')).resolves.toBe('8 under invoice:8');
  });

  it('keeps what other decorators left on the method, and its name', () => {
    const method: unknown = Reflect.get(Invoices.prototype, 'sync');
    if (typeof method !== 'function') throw new Error('no method');
    expect(Reflect.getMetadata('above', method)).toBe(2);
    expect(Reflect.getMetadata('below', method)).toBe(1);
    expect([method.name, method.length]).toEqual(['sync', 1]);
  });

  it('says so when Nest did not make the instance', async () => {
    await expect(new Invoices().sync('7')).rejects.toBeInstanceOf(ConfigurationError);
  });

  it('uses the locks of the app that made the instance', async () => {
    const other = await start();
    await other.get(LockService).acquire('report');
    await expect(app.get(Invoices).report()).resolves.toEqual(expect.any(Number));
    await other.close();
  });
});
