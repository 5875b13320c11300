import { once } from 'node:events';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { AppProcess } from './support/app-process.js';
import { type Env, removeKeys, requireRedisUrl, uniquePrefix } from './support/app.js';
import { eventually } from './support/eventually.js';

const redisUrl = requireRedisUrl();
let outboxDir: string;
let prefix: string;
let processes: AppProcess[];

beforeEach(async () => {
  outboxDir = await mkdtemp(join(tmpdir(), 'fenceline-outbox-'));
  prefix = uniquePrefix();
  processes = [];
});
afterEach(async () => {
  for (const each of processes) each.kill('SIGKILL');
  await Promise.all(processes.map((each) => each.exited));
  await rm(outboxDir, { recursive: true });
  await removeKeys({ redisUrl, prefix });
});

function start(entry: 'main' | 'worker', env: Env): AppProcess {
  const started = new AppProcess(entry, {
    PORT: '0',
    OUTBOX_DIR: outboxDir,
    FENCELINE_PREFIX: prefix,
    ...env,
  });
  processes.push(started);
  return started;
}

async function stopsGracefully(running: AppProcess): Promise<void> {
  running.kill('SIGTERM');
  expect(await running.exited).toEqual({ code: 0, signal: null });
}

describe('main.js', () => {
  it('serves from memory without any settings, says so once, and tells what to try', async () => {
    const app = start('main', {});
    const url = await app.url();
    expect(app.stdout).toContain(`curl -i ${url}/emails`);
    expect(app.stdout).toContain(`${url}/health`);
    const output = app.stdout + app.stderr;
    expect(output.split('\n').filter((line) => line.includes('WARN'))).toEqual([
      expect.stringMatching(/memory/),
    ]);

    const api = new ApiClient(url.replace('localhost', '127.0.0.1'));
    const jobId = await api.enqueueEmail();
    await api.jobInStatus(jobId, 'done');
    expect(await readFile(join(outboxDir, `${jobId}.eml`), 'utf8')).toContain('Subject: Welcome');

    await stopsGracefully(app);
  });

  it('finishes the running job when it is told to stop', async () => {
    const app = start('main', { REDIS_URL: redisUrl, SOURCE_DELAY_MS: '300' });
    const api = new ApiClient((await app.url()).replace('localhost', '127.0.0.1'));
    const { body } = await api.post('/cache-rebuilds', { tenantId: 'acme', resourceId: 'prices' });
    const jobId = String(body.jobId);
    await api.jobInStatus(jobId, 'processing');

    await stopsGracefully(app);

    const reader = start('main', { REDIS_URL: redisUrl, ROLE: 'api' });
    const readerApi = new ApiClient((await reader.url()).replace('localhost', '127.0.0.1'));
    const job = await readerApi.get(`/jobs/${jobId}`);
    expect(job.body).toMatchObject({ status: 'done', attempt: 1, result: { outcome: 'swapped' } });
  });

  it.each([
    ['a PORT that is no number', { PORT: 'http' }, /^Cannot start: PORT must be a whole number .*"http"/],
    ['a PORT that is out of range', { PORT: '65536' }, /^Cannot start: PORT must be/],
    ['an unknown ROLE', { ROLE: 'boss' }, /^Cannot start: ROLE must be "all" or "api" \(received "boss"\)/],
    ['an API without Redis', { ROLE: 'api' }, /^Cannot start: REDIS_URL must be set/],
    ['a REDIS_URL that is none', { REDIS_URL: 'localhost:6379' }, /^Cannot start: REDIS_URL must be a URL/],
    [
      'a REDIS_URL of another kind',
      { REDIS_URL: 'http://:pw@redis' },
      /^Cannot start: REDIS_URL must be a URL/,
    ],
    [
      'an SMTP_URL of another kind',
      { SMTP_URL: 'mail.example.com' },
      /^Cannot start: SMTP_URL must be a URL/,
    ],
    [
      'a DATABASE_URL of another kind',
      { DATABASE_URL: 'mysql://:pw@db' },
      /^Cannot start: DATABASE_URL must be a URL like postgres:/,
    ],
    [
      'a lock that would be lost at once',
      { INVOICE_LOCK_TTL_MS: '5' },
      /^Cannot start: INVOICE_LOCK_TTL_MS must be a whole number from 100 /,
    ],
    ['a prefix that breaks keys', { FENCELINE_PREFIX: 'a{b}' }, /^Cannot start: .*prefix/],
  ])('answers %s with one line and exit code 1', async (_what, env, message) => {
    const app = start('main', env);
    expect(await app.exited).toEqual({ code: 1, signal: null });
    expect(app.stderr).toMatch(message);
    expect(app.stderr.trim().split('\n')).toHaveLength(1);
    expect(app.stderr).not.toContain(':pw@');
  });

  it('answers a port that is taken with one line and exit code 1', async () => {
    const other = createServer().listen(0).unref();
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    const app = start('main', { PORT: String(port) });
    expect(await app.exited).toEqual({ code: 1, signal: null });
    expect(app.stderr).toMatch(/^Cannot start: .*EADDRINUSE.*Choose another port/);
    expect(app.stderr.trim().split('\n')).toHaveLength(1);
    other.close();
  });
});

describe('worker.js', () => {
  it('runs what an API process enqueued, and answers health probes on its own port', async () => {
    const api = start('main', { REDIS_URL: redisUrl, ROLE: 'api' });
    const client = new ApiClient((await api.url()).replace('localhost', '127.0.0.1'));
    const jobId = await client.enqueueEmail();
    expect((await client.get(`/jobs/${jobId}`)).body).toMatchObject({ status: 'queued', attempt: 0 });
    expect((await client.get('/health/ready')).status).toBe(200);

    const port = await freePort();
    const worker = start('worker', { REDIS_URL: redisUrl, WORKER_HEALTH_PORT: String(port) });
    await client.jobInStatus(jobId, 'done');
    await eventually(
      () => worker.stdout.includes(`localhost:${port}/health`),
      (listening) => listening,
    );
    const probes = new ApiClient(`http://127.0.0.1:${port}`);
    for (const path of ['/health', '/health/live', '/health/ready']) {
      const { status, body } = await probes.get(path);
      expect({ path, status, body }).toMatchObject({ path, status: 200, body: { status: 'ok' } });
    }
    expect((await probes.get('/jobs')).status).toBe(404);

    await stopsGracefully(worker);
    await stopsGracefully(api);
  });

  it('refuses to start without Redis', async () => {
    const worker = start('worker', {});
    expect(await worker.exited).toEqual({ code: 1, signal: null });
    expect(worker.stderr).toMatch(/^Cannot start: REDIS_URL must be set .*\n$/);
  });
});

async function freePort(): Promise<number> {
  const server = createServer().listen(0);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
