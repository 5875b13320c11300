// Finds or starts a real Redis for tests and benches. Imported as '#scripts/find-redis.mjs'.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

const CONTAINER_IMAGE = 'redis:7-alpine';
const START_TIMEOUT_MS = 10_000;
const STOP_TIMEOUT_MS = 3_000;

/** Nothing to test against; the message tells the reader what to run. */
export class NoRedisError extends Error {}

/**
 * The first that works: REDIS_URL, a server binary, a container, and for root on Debian `apt-get install`.
 * The caller must stop() what it got; that leaves a server we did not start alone.
 */
export async function findRedis({ log = console.log } = {}) {
  if (process.env.REDIS_URL) return useGivenServer(process.env.REDIS_URL);

  const binary = findServerBinary();
  if (binary) return startServer({ binary });

  const container = await startContainer({ log });
  if (container) return container;

  if (canInstall()) {
    const installed = installServer({ log });
    if (installed) return startServer({ binary: installed });
  }
  throw new NoRedisError(`No Redis found: run "${installCommand()}", or set REDIS_URL, and try again.`);
}

/** Path of a redis-server or valkey-server; undefined when there is none. */
export function findServerBinary() {
  const { REDIS_SERVER_BIN: given, PATH = '' } = process.env;
  if (given) return given;
  const directories = PATH.split(delimiter).filter(Boolean);
  return ['redis-server', 'valkey-server']
    .flatMap((name) => directories.map((directory) => join(directory, name)))
    .find((path) => existsSync(path));
}

/**
 * A private server on a free loopback port, which keeps nothing on disk and dies with this process.
 * `args` are added to the command line and win over ours: ['--appendonly', 'yes'].
 */
export async function startServer({ binary = findServerBinary(), port, args = [] } = {}) {
  if (!binary) throw new NoRedisError(`No redis-server on PATH: run "${installCommand()}" and try again.`);
  const directory = mkdtempSync(join(tmpdir(), 'fenceline-redis-'));
  for (let attempt = 1; ; attempt++) {
    const server = await launch(binary, port ?? (await freePort()), directory, args);
    if (server.ready) return server.handle;
    // Someone else may have taken the port between our look and the start.
    if (port === undefined && attempt < 3 && /address already in use/i.test(server.output)) continue;
    rmSync(directory, { recursive: true, force: true });
    throw new Error(`${binary} did not start:\n${server.output}`);
  }
}

async function launch(binary, port, directory, args) {
  const child = spawn(
    binary,
    // prettier-ignore
    ['--port', String(port), '--bind', '127.0.0.1', '--dir', directory,
      '--save', '', '--appendonly', 'no', '--daemonize', 'no', ...args],
    { stdio: ['ignore', 'pipe', 'pipe'] },
  );
  let output = '';
  let running = true;
  const collect = (chunk) => (output = (output + chunk).slice(-4_000));
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  child.once('error', (error) => collect(error.message));
  const closed = new Promise((resolve) => child.once('close', resolve)).then(() => (running = false));

  // The last resort, for a caller that crashes or calls process.exit().
  const onExit = () => {
    child.kill('SIGKILL');
    rmSync(directory, { recursive: true, force: true });
  };
  process.once('exit', onExit);

  const deadline = Date.now() + START_TIMEOUT_MS;
  while (running && Date.now() < deadline) {
    if (await answers('127.0.0.1', port)) {
      return { ready: true, handle: { url: `redis://127.0.0.1:${port}`, port, binary, from: binary, stop } };
    }
    await sleep(20);
  }
  child.kill('SIGKILL');
  await closed;
  process.off('exit', onExit);
  return { ready: false, output };

  async function stop() {
    child.kill('SIGTERM');
    const killer = setTimeout(() => child.kill('SIGKILL'), STOP_TIMEOUT_MS);
    await closed;
    clearTimeout(killer);
    process.off('exit', onExit);
    rmSync(directory, { recursive: true, force: true });
  }
}

async function useGivenServer(url) {
  const { hostname, port } = new URL(url);
  if (!(await accepts(hostname, Number(port || 6379)))) {
    throw new NoRedisError(`REDIS_URL is set, but nothing listens at ${hostname}:${port || 6379}.`);
  }
  return { url, from: 'REDIS_URL', stop: async () => {} };
}

/** undefined when Docker does not work here; testcontainers removes the container even if we are killed. */
async function startContainer({ log }) {
  try {
    const { RedisContainer } = await import('@testcontainers/redis');
    log(`No redis-server on PATH; trying Docker with ${CONTAINER_IMAGE}.`);
    const container = await new RedisContainer(CONTAINER_IMAGE).start();
    const stop = async () => void (await container.stop());
    return { url: container.getConnectionUrl(), from: CONTAINER_IMAGE, stop };
  } catch (error) {
    log(`Docker did not work: ${error.message}`);
    return undefined;
  }
}

function canInstall() {
  return process.getuid?.() === 0 && existsSync('/etc/debian_version') && existsSync('/usr/bin/apt-get');
}

function installServer({ log }) {
  log('Installing redis-server with apt-get.');
  withoutServiceStart(() => {
    const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
    const options = { env, stdio: ['ignore', 'ignore', 'inherit'] };
    spawnSync('apt-get', ['update', '-q'], options);
    spawnSync('apt-get', ['install', '-y', '-q', 'redis-server'], options);
    // We start our own server; the package's service shall not come up at the next boot either.
    spawnSync('update-rc.d', ['redis-server', 'disable'], { stdio: 'ignore' });
  });
  return findServerBinary();
}

/** Debian starts a service as soon as it is installed, unless this script forbids it. */
function withoutServiceStart(action) {
  const policy = '/usr/sbin/policy-rc.d';
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    action();
  } finally {
    if (ours) rmSync(policy);
  }
}

function installCommand() {
  return process.platform === 'darwin' ? 'brew install redis' : 'sudo apt-get install -y redis-server';
}

function freePort() {
  return new Promise((resolve, reject) => {
    const probe = createServer().once('error', reject);
    probe.listen(0, '127.0.0.1', () => {
      const { port } = probe.address();
      probe.close(() => resolve(port));
    });
  });
}

function accepts(host, port) {
  return converse(host, port, (socket, done) => socket.once('connect', () => done(true)));
}

function answers(host, port) {
  return converse(host, port, (socket, done) => {
    socket.once('connect', () => socket.write('PING\r\n'));
    socket.once('data', (reply) => done(reply.toString().startsWith('+PONG')));
  });
}

/** Resolves to what `talk` reports, or to false when the connection fails or nothing comes within a second. */
function converse(host, port, talk) {
  return new Promise((resolve) => {
    const socket = createConnection({ host, port, timeout: 1_000 });
    const done = (result) => {
      socket.destroy();
      resolve(result);
    };
    socket.once('error', () => done(false));
    socket.once('timeout', () => done(false));
    talk(socket, done);
  });
}
