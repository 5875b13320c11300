/** TLS to a real redis-server: with an authority of one's own, and with everything that is usually wrong about it. */
import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type INestApplicationContext, type LoggerService } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  JobHandler,
  JobQueueModule,
  LockService,
  QueueInspector,
  QueueService,
  type ConnectionOptions,
} from '@fenceline/nestjs';
import { INTERNAL } from '#lib/options/defaults.js';
import { RedisConnection } from '#lib/store/redis/connection.js';
import { untilIdle } from '@fenceline/nestjs/testing';
import { startServer, type StartedServer } from '#scripts/find-redis.mjs';
import { ApiClient } from '../e2e/app/support/api-client.js';
import { AppProcess } from '../e2e/app/support/app-process.js';
import { Certificates } from './certificates.js';

@Injectable()
class Handlers {
  @JobHandler('greet')
  greet({ name }: { name: string }): string {
    return `Hello ${name}`;
  }
}

let certificates: Certificates;
let server: StartedServer;
/** Wants a certificate of its clients, which is Redis's default. */
let strict: StartedServer;
let port: number;
let strictPort: number;
const contexts: INestApplicationContext[] = [];

beforeAll(async () => {
  certificates = new Certificates();
  [port, strictPort] = [await freePort(), await freePort()];
  server = await startServer({ args: tlsArgs(port, 'no') });
  strict = await startServer({ args: tlsArgs(strictPort, 'yes') });
});
afterEach(async () => {
  await Promise.all(contexts.splice(0).map((context) => context.close()));
});
afterAll(async () => {
  await server.stop();
  await strict.stop();
  certificates.delete();
});

function tlsArgs(tlsPort: number, clients: 'yes' | 'no'): string[] {
  const file = (name: string): string => certificates.path(name);
  return [
    ...['--tls-port', String(tlsPort), '--tls-auth-clients', clients, '--tls-ca-cert-file', file('ca.crt')],
    ...['--tls-cert-file', file('server.crt'), '--tls-key-file', file('server.key')],
  ];
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1');
  await once(probe, 'listening');
  const { port: free } = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return free;
}

async function start(
  connection: ConnectionOptions,
  commandTimeoutMs = 5_000,
): Promise<{ app: INestApplicationContext; logged: string }> {
  @Module({
    imports: [JobQueueModule.forRoot({ connection, logging: false, commandTimeoutMs })],
    providers: [Handlers],
  })
  class TlsModule {}
  const lines: string[] = [];
  const note = (message: unknown): void => void lines.push(String(message));
  const logger: LoggerService = { log: () => {}, warn: note, error: note };
  const app = await NestFactory.createApplicationContext(TlsModule, { logger, abortOnError: false });
  contexts.push(app);
  return { app, logged: lines.join('\n') };
}

async function works(connection: ConnectionOptions): Promise<void> {
  const { app, logged } = await start(connection);
  expect(logged).toBe('');
  const { jobId } = await app.get(QueueService).enqueue('greet', { name: 'Ada' });
  await untilIdle(app);
  expect(await app.get(QueueInspector).get(jobId)).toMatchObject({ status: 'done', result: 'Hello Ada' });
  expect(await app.get(LockService).using('x', {}, () => 'held')).toBe('held');
}

describe('TLS', () => {
  it('works with the authority in the options', async () => {
    const ca = certificates.text('ca.crt');
    await works({ redis: { host: 'localhost', port, tls: { ca } } });
  });

  it('works with a certificate of the client', async () => {
    const [ca, cert, key] = ['ca.crt', 'client.crt', 'client.key'].map((name) => certificates.text(name));
    await works({ redis: { host: 'localhost', port: strictPort, tls: { ca, cert, key } } });
  });

  it('works with a rediss:// URL and the authority in NODE_EXTRA_CA_CERTS', async () => {
    const outbox = mkdtempSync(join(tmpdir(), 'fenceline-outbox-'));
    const app = new AppProcess('main', {
      PORT: '0',
      OUTBOX_DIR: outbox,
      REDIS_URL: `rediss://localhost:${port}`,
      NODE_EXTRA_CA_CERTS: certificates.path('ca.crt'),
    });
    try {
      const api = new ApiClient((await app.url()).replace('localhost', '127.0.0.1'));
      await api.jobInStatus(await api.enqueueEmail(), 'done');
      expect((await api.get('/health')).status).toBe(200);
    } finally {
      app.kill('SIGTERM');
      await app.exited;
      rmSync(outbox, { recursive: true, force: true });
    }
  });

  it('survives a socket that reports two errors, as one does that gets a TLS alert and a timeout', async () => {
    const ca = certificates.text('ca.crt');
    const connection = new RedisConnection(
      { redis: { host: 'localhost', port, tls: { ca } } },
      { commandTimeoutMs: 5_000, reconnect: INTERNAL.storeRetry, warn: () => {} },
    );
    try {
      await connection.open();
      const { stream } = await connection.call('', async (client) => client);
      for (const error of ['alert', 'timeout']) stream.emit('error', new Error(error));
      const closed = once(stream, 'close');
      stream.destroy();
      await closed;
      await connection.open();
    } finally {
      await connection.close();
    }
  });

  it.each([
    [
      'an authority that nobody knows',
      () => ({ url: `rediss://localhost:${port}` }),
      /is not trusted \(.*NODE_EXTRA_CA_CERTS/,
    ],
    [
      'another authority',
      () => ({ redis: { host: 'localhost', port, tls: { ca: certificates.text('other-ca.crt') } } }),
      /certificate of localhost:\d+ is not trusted \(.*`tls: \{ ca \}`/,
    ],
    [
      'a certificate for another host',
      () => ({ redis: { host: '127.0.0.1', port, tls: { ca: certificates.text('ca.crt') } } }),
      /certificate of 127\.0\.0\.1:\d+ is for another host \(.*127\.0\.0\.1 is not in/,
    ],
    [
      'no certificate of the client',
      () => ({ redis: { host: 'localhost', port: strictPort, tls: { ca: certificates.text('ca.crt') } } }),
      /(closes the connection at once\. .*|wants) a certificate of the client.*`tls: \{ cert, key \}`/,
    ],
    [
      'TLS to a port without it',
      () => ({ url: `rediss://localhost:${server.port}` }),
      /cannot be reached\. .* does its port speak TLS\?/,
    ],
    [
      'a port that wants TLS',
      () => ({ url: `redis://localhost:${port}` }),
      /closes the connection at once\. Does it want TLS \(rediss:\/\/\)/,
    ],
  ])('says what is wrong with %s', async (_what, connection, message) => {
    const { app, logged } = await start(connection(), 400);
    expect(logged).toMatch(message);
    await expect(app.get(QueueService).enqueue('greet', {})).rejects.toThrow(message);
  });
});
