/** The package as users get it: packed, installed in an empty folder beside its peers, and put to work. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deletePrefix, newPrefix, openRedis, redisUrl } from '../support/redis.js';

const ROOT = process.cwd();
const LIBRARY = join(ROOT, 'libs/job-queue');

interface Manifest {
  readonly exports: Readonly<Record<string, string | Readonly<Record<string, string>>>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
}
const manifest = JSON.parse(readFileSync(join(LIBRARY, 'package.json'), 'utf8')) as Manifest;

/** What a user without TypeScript writes. Prints the ended job. */
const PROGRAM = `
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { JobHandler, JobQueueModule, QueueInspector, QueueService } from '@fenceline/nestjs';

class Handlers {
  async greet({ name }, job) {
    await job.checkpoint.set({ greeted: name });
    return { text: 'Hello ' + name, checkpoint: await job.checkpoint.get() };
  }
}
Injectable()(Handlers);
JobHandler('greet')(Handlers.prototype, 'greet', Object.getOwnPropertyDescriptor(Handlers.prototype, 'greet'));

const { REDIS_URL: url, PREFIX: prefix } = process.env;
const options = { connection: url ? { url } : 'memory', prefix, logging: false };
class App {}
Module({ imports: [JobQueueModule.forRoot(options)], providers: [Handlers] })(App);

const app = await NestFactory.createApplicationContext(App, { logger: ['error', 'warn'] });
const { jobId } = await app.get(QueueService).enqueue('greet', { name: 'Ada' });
let job;
do {
  await new Promise((resolve) => setTimeout(resolve, 10));
  job = await app.get(QueueInspector).get(jobId);
} while (!job.endedAt);
await app.close();
console.log(JSON.stringify({ status: job.status, attempt: job.attempt, result: job.result }));
`;
const ENDED = { status: 'done', attempt: 1, result: { text: 'Hello Ada', checkpoint: { greeted: 'Ada' } } };

describe('the packed package', () => {
  let directory: string;
  let files: readonly string[];

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'fenceline-package-'));
    const packed = await npm(['pack', '--json', '--pack-destination', directory], LIBRARY);
    const [{ filename, files: listed }] = JSON.parse(packed) as [
      { filename: string; files: readonly { path: string }[] },
    ];
    files = listed.map(({ path }) => path);

    writeFileSync(join(directory, 'package.json'), '{"private":true,"type":"module"}');
    // Peers come from the project, so that the test needs no network.
    const flags = ['--offline', '--legacy-peer-deps', '--no-audit', '--no-fund'];
    await npm(['install', ...flags, join(directory, filename)], directory);
    for (const peer of Object.keys(manifest.peerDependencies)) usePeer(peer);
    writeFileSync(join(directory, 'program.mjs'), PROGRAM);
  }, 60_000);
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  /** Lets the package find that of the project's packages as its peer. */
  function usePeer(peer: string, installed = peer): void {
    const link = join(directory, 'node_modules', peer);
    mkdirSync(dirname(link), { recursive: true });
    rmSync(link, { force: true });
    symlinkSync(join(ROOT, 'node_modules', installed), link);
  }

  it('has the scripts, the types, the licence and a readme', () => {
    const scripts = files.filter((path) => path.endsWith('.lua'));
    expect(scripts).toContain('dist/store/redis/scripts/claim.lua');
    expect(scripts).toContain('dist/store/redis/scripts/prelude.lua');
    expect(files).toEqual(
      expect.arrayContaining(['dist/index.js', 'dist/index.d.ts', 'LICENSE', 'README.md']),
    );
  });

  it('has no sources, specs or build state', () => {
    const kinds = /\.(js|js\.map|d\.ts|lua)$/;
    const others = files.filter((path) => !kinds.test(path) || /\.spec\.|(^|\/)src\//.test(path));
    expect(others.toSorted()).toEqual(['LICENSE', 'README.md', 'package.json']);
  });

  it('has every file that it exports', () => {
    const exported = Object.values(manifest.exports).flatMap((target) =>
      typeof target === 'string' ? [target] : Object.values(target),
    );
    expect(exported.map((path) => path.slice('./'.length)).filter((path) => !files.includes(path))).toEqual(
      [],
    );
  });

  it('runs a job in memory', async () => {
    expect(JSON.parse(await node(['program.mjs'], directory))).toEqual(ENDED);
  });

  // In the project, `ioredis-5` is the oldest version that the peer range allows.
  it.each(['ioredis', 'ioredis-5'])('runs a job on Redis with %s', async (client) => {
    usePeer('ioredis', client);
    const prefix = newPrefix();
    const redis = openRedis();
    try {
      const output = await node(['program.mjs'], directory, { REDIS_URL: redisUrl(), PREFIX: prefix });
      expect(JSON.parse(output)).toEqual(ENDED);
    } finally {
      await deletePrefix(redis, prefix);
      redis.disconnect();
    }
  });

  it('was tried with the oldest and the newest ioredis of its peer range', () => {
    const versionOf = (name: string): unknown =>
      JSON.parse(readFileSync(join(ROOT, 'node_modules', name, 'package.json'), 'utf8'));
    expect(versionOf('ioredis')).toMatchObject({ name: 'ioredis', version: expect.stringMatching(/^6\./) });
    expect(versionOf('ioredis-5')).toMatchObject({ name: 'ioredis', version: '5.11.0' });
    expect(manifest.peerDependencies['ioredis']).toBe('^5.11.0 || ^6.0.0');
  });

  it('can be required from CommonJS', async () => {
    const program = "console.log(typeof require('@fenceline/nestjs').JobQueueModule.forRoot)";
    const output = await node(['--input-type=commonjs', '--eval', program], directory);
    expect(output.trim()).toBe('function');
  });
});

/** npm tells its scripts where it lives; without it, as when Jest is started by hand, it is looked up. */
function npm(args: readonly string[], cwd: string): Promise<string> {
  const { npm_execpath: path } = process.env;
  return path === undefined ? run('npm', args, cwd) : run(process.execPath, [path, ...args], cwd);
}

/** The program must not see the Redis of the tests unless it is meant to. */
function node(args: readonly string[], cwd: string, env: NodeJS.ProcessEnv = {}): Promise<string> {
  return run(process.execPath, args, cwd, { REDIS_URL: '', NODE_OPTIONS: '', ...env });
}

/** What it prints. Rejects with everything it said when it fails. */
async function run(
  command: string,
  args: readonly string[],
  cwd: string,
  env: NodeJS.ProcessEnv = {},
): Promise<string> {
  const child = spawn(command, args, {
    cwd,
    env: { ...process.env, NODE_OPTIONS: '', ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  let complaints = '';
  child.stdout.on('data', (chunk) => void (output += chunk));
  child.stderr.on('data', (chunk) => void (complaints += chunk));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${output}${complaints}`);
  return output;
}
