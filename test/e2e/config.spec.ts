/** Connections that cannot work, or do not yet: what an app hears at boot, and later. */
import { createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { Module, type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  ConfigurationError,
  EnqueueRefusedError,
  IncompatibleStoreError,
  JobQueueModule,
  QueueService,
  type ConnectionOptions,
} from '@fenceline/nestjs';
import { Redis } from 'ioredis';
import { eventually } from '../support/eventually.js';
import { FakeRedis, type FakeRedisBehaviour } from '../support/fake-redis.js';
import { keysOf, newPrefix, openRedis, redisUrl } from '../support/redis.js';

jest.setTimeout(20_000);

const COMMAND_TIMEOUT_MS = 500;
const SLACK_MS = 500;

let context: INestApplicationContext | undefined;
let fake: FakeRedis | undefined;
const cleanUps: (() => void)[] = [];
afterEach(async () => {
  await context?.close();
  context = undefined;
  await fake?.stop();
  fake = undefined;
  for (const cleanUp of cleanUps.splice(0)) cleanUp();
});

interface Boot {
  readonly error: unknown;
  readonly ms: number;
  readonly logged: readonly unknown[];
}

async function boot(connection: ConnectionOptions, prefix = 'never-written'): Promise<Boot> {
  @Module({
    imports: [
      JobQueueModule.forRoot({
        connection,
        prefix,
        commandTimeoutMs: COMMAND_TIMEOUT_MS,
        logging: false,
        shutdownTimeoutMs: COMMAND_TIMEOUT_MS,
      }),
    ],
  })
  class TestModule {}
  const logged: unknown[] = [];
  const note = (message: unknown): void => void logged.push(message);
  // Nest itself logs its progress with `log` and the error that ends a boot with `error`.
  const logger: LoggerService = { log: () => {}, warn: note, error: note };
  const startedAt = performance.now();
  const error = await NestFactory.createApplicationContext(TestModule, { logger, abortOnError: false }).then(
    (app) => void (context = app),
    (thrown: unknown) => thrown,
  );
  return { error, ms: performance.now() - startedAt, logged };
}

async function enqueueError(): Promise<{ error: unknown; ms: number }> {
  const startedAt = performance.now();
  const error = await context
    ?.get(QueueService)
    .enqueue('note', {})
    .catch((thrown: unknown) => thrown);
  return { error, ms: performance.now() - startedAt };
}

// taskforcesh/bullmq#183
describe('a keyPrefix', () => {
  it.each<[string, () => ConnectionOptions, string]>([
    ['in the URL', () => ({ url: `${redisUrl()}?keyPrefix=mine:` }), 'connection.url'],
    [
      'in the options',
      () => ({ redis: { host: '127.0.0.1', keyPrefix: 'mine:' } }),
      'connection.redis.keyPrefix',
    ],
    [
      'of the client',
      () => {
        const client = new Redis(redisUrl(), { keyPrefix: 'mine:', lazyConnect: true });
        cleanUps.push(() => client.disconnect());
        return { client };
      },
      'connection.client.options.keyPrefix',
    ],
  ])('%s is a boot error that names our option', async (_where, connection, field) => {
    const { error } = await boot(connection());
    expect(error).toBeInstanceOf(ConfigurationError);
    expect(error).toMatchObject({ field, message: expect.stringMatching(/use the option `prefix`/) });
  });
});

describe('a server that cannot be used', () => {
  async function startFake(behaviour: FakeRedisBehaviour): Promise<string> {
    fake = await FakeRedis.start(behaviour);
    return fake.url;
  }

  it.each(['6.2.0', '5.0.14'])('Redis %s is a boot error that says which is needed', async (version) => {
    const url = await startFake({ version });
    const { error } = await boot({ url });
    expect(error).toBeInstanceOf(IncompatibleStoreError);
    expect(error).toMatchObject({
      code: 'INCOMPATIBLE_STORE',
      message: expect.stringMatching(
        new RegExp(`Redis ${version} at 127\\.0\\.0\\.1:\\d+ is too old.*7\\.0`),
      ),
    });
    // Not one command that might write.
    expect(fake?.received.filter((name) => !['HELLO', 'CLIENT', 'INFO', 'PING'].includes(name))).toEqual([]);
  });

  it('an old Redis that appears only after boot: nothing is sent to it either', async () => {
    const url = await startFake({ version: '6.2.0', ignores: () => true });
    expect((await boot({ url })).error).toBeUndefined();
    const { port = 0 } = fake ?? {};
    await fake?.stop();
    fake = await FakeRedis.start({ version: '6.2.0' }, port);
    await eventually(async () => {
      const { error } = await enqueueError();
      expect(error).toBeInstanceOf(EnqueueRefusedError);
      return String(error).includes('too old');
    });
    expect(fake.received.filter((name) => name.startsWith('EVAL'))).toEqual([]);
  });

  it('a server that is slow to greet and then falls silent: enqueue still settles in time', async () => {
    const helloMs = 0.8 * COMMAND_TIMEOUT_MS;
    // The library's own INFO, which comes after that of ioredis, gets no answer.
    const ignores = (name: string, count: number): boolean => name === 'INFO' && count > 1;
    const url = await startFake({ version: '7.2.0', helloMs, ignores });
    await boot({ url });
    for (let i = 0; i < 3; i++) {
      const { error, ms } = await enqueueError();
      expect(error).toBeInstanceOf(EnqueueRefusedError);
      expect(ms).toBeLessThan(COMMAND_TIMEOUT_MS + helloMs);
    }
    expect(fake?.received.filter((name) => name.startsWith('EVAL'))).toEqual([]);
  });
});

describe('a URL that does not answer', () => {
  async function expectBootWithout(url: string, port: number): Promise<void> {
    const { error, ms, logged } = await boot({ url });
    expect(error).toBeUndefined();
    expect(ms).toBeLessThan(COMMAND_TIMEOUT_MS + 2 * SLACK_MS);
    expect(logged).toEqual([
      expect.stringMatching(new RegExp(`127\\.0\\.0\\.1:${port} cannot be reached.*keeps trying`)),
    ]);
    const attempt = await enqueueError();
    expect(attempt.error).toBeInstanceOf(EnqueueRefusedError);
    expect(attempt.ms).toBeLessThan(COMMAND_TIMEOUT_MS + SLACK_MS);
  }

  it('because nothing listens there: the app boots, says so, and refuses to enqueue', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    server.close();
    await once(server, 'close');
    await expectBootWithout(`redis://:secret@127.0.0.1:${port}`, port);
  });

  it('because what listens there says nothing: the same', async () => {
    fake = await FakeRedis.start({ version: '7.0.0', ignores: () => true });
    await expectBootWithout(fake.url, fake.port);
  });
});

describe('a client of the app', () => {
  it('is duplicated, whatever its settings, and neither used nor closed', async () => {
    const prefix = newPrefix();
    const client = new Redis(redisUrl(), { enableOfflineQueue: true, replyMapping: 'resp3' });
    const inspector = openRedis();
    cleanUps.push(
      () => client.disconnect(),
      () => inspector.disconnect(),
    );
    expect((await boot({ client }, prefix)).error).toBeUndefined();
    await context?.get(QueueService).enqueue('note', {}, { jobId: 'mine' });
    const keys = await keysOf(inspector, prefix);
    expect(keys).toContain(`${prefix}:{jobs}:job:mine`);
    await inspector.unlink(...keys);
    await context?.close();
    context = undefined;
    expect(await client.ping()).toBe('PONG');
  });
});
