/** When workers start and stop, relative to everything else in a Nest app. Nest internals are at work: see nest/worker.lifecycle.ts. */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import {
  Global,
  Inject,
  Injectable,
  Module,
  type BeforeApplicationShutdown,
  type INestApplicationContext,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type OnModuleDestroy,
  type OnModuleInit,
} from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueueModule, QueueService } from '@fenceline/nestjs';
import { eventually } from '../support/eventually.js';
import { Gate } from '../support/gate.js';
import { QUICK_QUEUE, startApp, type TestApp } from '../support/nest-app.js';
import { redisUrl } from '../support/redis.js';

jest.setTimeout(20_000);

const DIARY = Symbol('diary');
/** Long enough for a worker that starts too early to run a job. */
const SLOW_HOOK_MS = 150;

/** Writes down its hooks, some of which are slow. */
abstract class Hooked implements OnModuleInit, OnApplicationBootstrap, OnModuleDestroy {
  protected abstract readonly label: string;
  protected readonly bootstrapMs: number = 0;

  constructor(@Inject(DIARY) protected readonly diary: string[]) {}

  onModuleInit(): void {
    this.diary.push(`${this.label} init`);
  }

  async onApplicationBootstrap(): Promise<void> {
    if (this.bootstrapMs > 0) await sleep(this.bootstrapMs);
    this.diary.push(`${this.label} bootstrap`);
  }

  onModuleDestroy(): void {
    this.diary.push(`${this.label} destroy`);
  }
}

@Injectable()
class GlobalHooks extends Hooked {
  protected readonly label = 'global';
}

@Injectable()
class ImportedHooks extends Hooked {
  protected readonly label = 'imported';
}

@Injectable()
class FeatureHooks extends Hooked {
  protected readonly label = 'feature';
  protected override readonly bootstrapMs = SLOW_HOOK_MS;
}

@Injectable()
class RootHooks extends Hooked implements BeforeApplicationShutdown, OnApplicationShutdown {
  protected readonly label = 'root';
  protected override readonly bootstrapMs = SLOW_HOOK_MS;

  constructor(
    @Inject(DIARY) diary: string[],
    private readonly queue: QueueService,
  ) {
    super(diary);
  }

  /** The library's connections are the last to go. */
  async beforeApplicationShutdown(): Promise<void> {
    await this.queue.enqueue('note', {}, { jobId: 'goodbye' });
    this.diary.push('root enqueues before shutdown');
  }

  onApplicationShutdown(): void {
    this.diary.push('root shutdown');
  }
}

@Injectable()
class Handlers {
  readonly mayEnd = new Gate();

  constructor(@Inject(DIARY) private readonly diary: string[]) {}

  @JobHandler('note')
  note(): void {
    this.diary.push('job runs');
  }

  @JobHandler('hold')
  async hold(): Promise<void> {
    this.diary.push('job starts');
    await this.mayEnd.passed();
    this.diary.push('job ends');
  }
}

describe.each([
  ['global', true],
  ['not global', false],
])('the order of hooks, JobQueueModule %s', (_what, isGlobal) => {
  let diary: string[];
  let producer: TestApp;
  let context: INestApplicationContext | undefined;

  beforeEach(async () => {
    diary = [];
    producer = await startApp({ options: { worker: false } });
  });
  afterEach(async () => {
    await close();
    await producer.close();
  });

  async function close(): Promise<void> {
    const open = context;
    context = undefined;
    await open?.close();
  }

  /** Modules on every side of ours: global, imported by it, beside it, and importing it. */
  async function start(): Promise<Handlers> {
    @Global()
    @Module({ providers: [{ provide: DIARY, useValue: diary }, GlobalHooks], exports: [DIARY] })
    class GlobalModule {}

    @Module({ providers: [ImportedHooks] })
    class ImportedModule {}

    const ours = JobQueueModule.forRootAsync({
      imports: [ImportedModule],
      isGlobal,
      useFactory: () => ({
        connection: { url: redisUrl() },
        prefix: producer.prefix,
        queues: [QUICK_QUEUE],
        logging: false as const,
      }),
    });

    @Module({ imports: [ours], providers: [Handlers, FeatureHooks], exports: [JobQueueModule] })
    class FeatureModule {}

    @Module({ imports: [GlobalModule, FeatureModule], providers: [RootHooks] })
    class RootModule {}

    context = await NestFactory.createApplicationContext(RootModule, {
      logger: false,
      abortOnError: false,
    });
    return context.get(Handlers, { strict: false });
  }

  const HOOKED = ['global', 'imported', 'feature', 'root'];

  // nestjs/bull#1664
  it('handlers start after every bootstrap hook, also with jobs waiting', async () => {
    await producer.queue.enqueue('note', {});
    await start();
    await eventually(() => diary.includes('job runs'));
    await close();
    const before = diary.slice(0, diary.indexOf('job runs'));
    expect(new Set(before)).toEqual(
      new Set(HOOKED.flatMap((label) => [`${label} init`, `${label} bootstrap`])),
    );
  });

  it('workers drain before every destroy hook', async () => {
    await producer.queue.enqueue('hold', {});
    const handlers = await start();
    await eventually(() => diary.includes('job starts'));
    const closed = close();
    // Time for hooks that do not wait for the job.
    await new Promise((resolve) => setImmediate(resolve));
    handlers.mayEnd.open();
    await closed;
    const after = diary.slice(diary.indexOf('job ends') + 1);
    expect(new Set(after.slice(0, HOOKED.length))).toEqual(
      new Set(HOOKED.map((label) => `${label} destroy`)),
    );
    expect(after.slice(HOOKED.length)).toEqual(['root enqueues before shutdown', 'root shutdown']);
    expect(await producer.inspector.get('goodbye')).toMatchObject({ status: 'queued' });
  });
});
