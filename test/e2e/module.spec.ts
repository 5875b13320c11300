/** How the module is wired into an app: its ways of configuration, what it refuses at boot, and several queues. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type INestApplicationContext, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  JobHandler,
  JobQueueModule,
  QueueInspector,
  QueueService,
  UnknownQueueError,
  type JobContext,
  type JobQueueModuleOptions,
} from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { Gate } from '../support/gate.js';
import { startApp, type TestApp } from '../support/nest-app.js';
import { RecordingHandlers } from '../support/recording-handlers.js';

const MEMORY: JobQueueModuleOptions = { connection: 'memory', queues: [{ name: 'jobs' }], logging: false };

let context: INestApplicationContext | undefined;
afterEach(async () => {
  await context?.close();
  context = undefined;
});

async function boot(module: Type): Promise<INestApplicationContext> {
  context = await NestFactory.createApplicationContext(module, { logger: false, abortOnError: false });
  return context;
}

async function expectToRunJobs(app: INestApplicationContext): Promise<void> {
  const { jobId } = await app.get(QueueService, { strict: false }).enqueue('note', {});
  await eventually(() => app.get(RecordingHandlers, { strict: false }).runsOf(jobId).length === 1);
}

describe('ways to configure', () => {
  it('forRoot; not global, it serves the modules that import it', async () => {
    @Module({
      imports: [JobQueueModule.forRoot({ ...MEMORY, isGlobal: false })],
      providers: [RecordingHandlers],
      exports: [JobQueueModule],
    })
    class QueueModule {}

    @Injectable()
    class Importer {
      constructor(readonly queue: QueueService) {}
    }
    @Module({ imports: [QueueModule], providers: [Importer] })
    class ImporterModule {}
    @Module({ imports: [ImporterModule] })
    class RootModule {}
    await expectToRunJobs(await boot(RootModule));

    @Module({ providers: [Importer] })
    class StrangerModule {}
    @Module({ imports: [QueueModule, StrangerModule] })
    class BrokenModule {}
    const stranger = NestFactory.createApplicationContext(BrokenModule, {
      logger: false,
      abortOnError: false,
    });
    await expect(stranger).rejects.toThrow(/QueueService/);
  });

  it('global by default: modules need not import it', async () => {
    @Module({ providers: [RecordingHandlers] })
    class FeatureModule {}
    @Module({ imports: [JobQueueModule.forRoot(MEMORY), FeatureModule] })
    class RootModule {}
    await expectToRunJobs(await boot(RootModule));
  });

  @Injectable()
  class Settings {
    readonly options = MEMORY;

    createJobQueueOptions(): JobQueueModuleOptions {
      return this.options;
    }
  }
  @Module({ providers: [Settings], exports: [Settings] })
  class SettingsModule {}

  it.each([
    [
      'useFactory',
      () =>
        JobQueueModule.forRootAsync({
          imports: [SettingsModule],
          inject: [Settings],
          useFactory: async (settings: Settings) => settings.options,
        }),
    ],
    ['useClass', () => JobQueueModule.forRootAsync({ useClass: Settings })],
    ['useExisting', () => JobQueueModule.forRootAsync({ imports: [SettingsModule], useExisting: Settings })],
  ])('forRootAsync with %s', async (_what, configure) => {
    @Module({ imports: [configure()], providers: [RecordingHandlers] })
    class RootModule {}
    await expectToRunJobs(await boot(RootModule));
  });

  it('a factory that fails or returns nothing is a boot error', async () => {
    @Module({ imports: [JobQueueModule.forRootAsync({ useFactory: () => Object(undefined).options })] })
    class RootModule {}
    await expect(boot(RootModule)).rejects.toMatchObject({
      code: 'CONFIGURATION',
      message: expect.stringContaining('did the factory forget to return it?'),
    });
  });
});

describe('several queues and processes', () => {
  @Injectable()
  class Busy {
    readonly running = { jobs: new Set<string>(), slow: new Set<string>() };
    readonly mayEnd = new Gate();

    @JobHandler('work')
    work(_payload: unknown, job: JobContext): Promise<void> {
      this.running.jobs.add(job.id);
      return this.mayEnd.passed();
    }

    @JobHandler('work', { queue: 'slow' })
    workSlowly(_payload: unknown, job: JobContext): Promise<void> {
      this.running.slow.add(job.id);
      return this.mayEnd.passed();
    }
  }

  let app: TestApp;
  beforeEach(async () => {
    const queues = [
      { name: 'jobs', concurrency: 3 },
      { name: 'slow', concurrency: 1 },
      { name: 'unserved', concurrency: 1 },
    ];
    app = await startApp({ providers: [Busy], options: { queues } });
  });
  afterEach(() => app.close());

  it('each queue has its own slots and its own handler of a type', async () => {
    const { running, mayEnd } = app.context.get(Busy);
    for (let i = 0; i < 5; i++) {
      for (const queue of ['jobs', 'slow']) await app.queue.queue(queue).enqueue('work', {});
    }
    await eventually(() => running.jobs.size === 3 && running.slow.size === 1);
    const counts = async (queue: string): Promise<unknown> =>
      (await app.inspector.queue(queue).snapshot()).counts;
    expect(await counts('jobs')).toMatchObject({ processing: 3, queued: 2 });
    expect(await counts('slow')).toMatchObject({ processing: 1, queued: 4 });
    mayEnd.open();
    await eventually(() => running.jobs.size === 5 && running.slow.size === 5);
  });

  it('a queue without a handler here keeps its jobs for another process', async () => {
    const { jobId } = await app.queue.queue('unserved').enqueue('work', {});
    const { running, mayEnd } = app.context.get(Busy);
    mayEnd.open();
    const later = await app.queue.enqueue('work', {});
    await eventually(() => running.jobs.has(later.jobId));
    expect(await app.inspector.queue('unserved').get(jobId)).toMatchObject({ status: 'queued', attempt: 0 });
    expect(() => app.queue.queue('none')).toThrow(UnknownQueueError);
  });

  it('worker: false never runs a job', async () => {
    const options = { prefix: app.prefix, worker: false, queues: [{ name: 'jobs' }, { name: 'slow' }] };
    const api = await startApp({ providers: [Busy], options });
    const worker = app.context.get(Busy);
    worker.mayEnd.open();
    for (let i = 0; i < 20; i++) await api.queue.enqueue('work', {});
    await eventually(async () => (await api.context.get(QueueInspector).snapshot()).counts.done === 20);
    expect(worker.running.jobs.size).toBe(20);
    expect(api.context.get(Busy).running.jobs.size).toBe(0);
    await api.close();
  });
});
