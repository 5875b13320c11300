/**
 * The contract suites and whole apps, on a server whose ACL file holds the users of docs/security.md, as these users.
 * They speak RESP2: the usual runs of the suites speak RESP3, and one more run of them shall be enough.
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  IdempotencyService,
  JobHandler,
  JobQueueModule,
  LockService,
  QueueAdmin,
  QueueInspector,
  QueueService,
  type ConnectionOptions,
} from '@fenceline/nestjs';
import { untilIdle } from '@fenceline/nestjs/testing';
import { INTERNAL } from '#lib/options/defaults.js';
import { RedisConnection, type RedisConnectionOptions } from '#lib/store/redis/connection.js';
import { describeAllContracts } from '../contract/redis-contracts.js';
import { SERVERS, useServer } from '../support/redis-servers.js';
import { openRedis } from '../support/redis.js';
import { aclFile, documentedUser } from './acl-rules.js';

const folder = mkdtempSync(join(tmpdir(), 'fenceline-acl-'));
writeFileSync(join(folder, 'users.acl'), aclFile());
afterAll(() => rmSync(folder, { recursive: true, force: true }));

@Injectable()
class Handlers {
  @JobHandler('greet')
  greet({ name }: { name: string }): string {
    return `Hello ${name}`;
  }
}

describe.each(SERVERS)('$name, RESP2, with the documented ACL', (server) => {
  const url = useServer(server, ['--aclfile', join(folder, 'users.acl')]);

  function connectAs(name: string) {
    const { hostname: host, port } = new URL(url());
    const { password } = documentedUser(name);
    // ioredis 6 takes RESP3 unless it is told otherwise.
    return { redis: { host, port: Number(port), username: name, password, protocol: 2 as const } };
  }

  describe('fenceline-worker', () => {
    describeAllContracts(() => ({ url: url(), connection: connectAs('fenceline-worker'), prefix: 'fl' }));
  });

  it('is what is spoken: RESP2 when asked for, else RESP3', async () => {
    const redis = openRedis(url());
    const protocolOf = async (options: RedisConnectionOptions): Promise<string | undefined> => {
      const connection = new RedisConnection(options, {
        commandTimeoutMs: 5_000,
        reconnect: INTERNAL.storeRetry,
        warn: () => {},
      });
      await connection.open();
      const clients = String(await redis.call('CLIENT', 'LIST')).split('\n');
      await connection.close();
      // Its own line is the one that asks.
      const line = clients.find((client) => client !== '' && !client.includes('cmd=client'));
      return /\bresp=(\d)/.exec(line ?? '')?.[1];
    };
    expect(await protocolOf(connectAs('fenceline-worker'))).toBe('2');
    expect(await protocolOf({ url: url() })).toBe('3');
    redis.disconnect();
  });

  describe('two apps', () => {
    const contexts: INestApplicationContext[] = [];
    afterEach(async () => {
      await Promise.all(contexts.splice(0).map((context) => context.close()));
    });

    async function start(connection: ConnectionOptions, worker: boolean): Promise<INestApplicationContext> {
      @Module({
        imports: [JobQueueModule.forRoot({ connection, worker, logging: false })],
        providers: worker ? [Handlers] : [],
      })
      class AclModule {}
      const context = await NestFactory.createApplicationContext(AclModule, {
        logger: false,
        abortOnError: false,
      });
      contexts.push(context);
      return context;
    }

    it('work together: one enqueues and may do nothing else, the other does the rest', async () => {
      const producer = await start(connectAs('fenceline-producer'), false);
      const consumer = await start(connectAs('fenceline-worker'), true);

      const { jobId } = await producer.get(QueueService).enqueue('greet', { name: 'Ada' });
      await untilIdle(consumer);
      const inspector = consumer.get(QueueInspector);
      expect(await inspector.get(jobId)).toMatchObject({ status: 'done', result: 'Hello Ada' });
      await consumer.get(QueueAdmin).remove(jobId);
      expect(await consumer.get(LockService).using('x', {}, () => 'held')).toBe('held');
      expect(await consumer.get(IdempotencyService).run('x', {}, () => 'done')).toBe('done');

      await expect(producer.get(LockService).tryAcquire('x')).rejects.toThrow(
        /forbids it to the user of this connection \(.+\)\. Give the user the rules of docs\/security\.md/,
      );
    });

    it('leave nothing in the log of what was refused but what the last one was for', async () => {
      const redis = openRedis(url());
      const log = (await redis.call('ACL', 'LOG')) as unknown[][];
      redis.disconnect();
      const refused = log.map((entry) => Object.fromEntries(pairs(entry)) as Record<string, unknown>);
      const others = refused.filter(({ object }) => !/client\|setinfo/i.test(String(object)));
      expect(others).toMatchObject([{ username: 'fenceline-producer', reason: 'key' }]);
    });
  });
});

function pairs(flat: readonly unknown[]): [string, unknown][] {
  return Array.from({ length: flat.length / 2 }, (_, i) => [String(flat[2 * i]), flat[2 * i + 1]]);
}
