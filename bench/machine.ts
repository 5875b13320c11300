/** What the figures were measured on; without it they mean nothing. */
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { cpus, release, totalmem, type as systemName } from 'node:os';

export interface Machine {
  readonly date: string;
  readonly cpu: string;
  readonly cores: number;
  readonly system: string;
  readonly memoryGb: number;
  readonly versions: Readonly<Record<string, string>>;
}

const PACKAGES = {
  bullmq: 'node_modules/bullmq',
  'bee-queue': 'node_modules/bee-queue',
  ioredis: 'node_modules/ioredis',
  nest: 'node_modules/@nestjs/core',
  fenceline: 'libs/job-queue',
};
/** Seen from `dist/bench`. */
const ROOT = new URL('../../', import.meta.url);

export function describeMachine(redisBinary: string): Machine {
  return {
    date: new Date().toISOString(),
    cpu: cpus()[0]?.model ?? 'unknown CPU',
    cores: cpus().length,
    system: `${systemName()} ${release()}`,
    memoryGb: Math.round(totalmem() / 2 ** 30),
    versions: {
      node: process.versions.node,
      redis: redisVersion(redisBinary),
      ...Object.fromEntries(Object.entries(PACKAGES).map(([name, path]) => [name, packageVersion(path)])),
    },
  };
}

function redisVersion(binary: string): string {
  const { stdout } = spawnSync(binary, ['--version'], { encoding: 'utf8' });
  return /v=(\S+)/.exec(stdout)?.[1] ?? stdout.trim();
}

function packageVersion(path: string): string {
  const { version } = JSON.parse(readFileSync(new URL(`${path}/package.json`, ROOT), 'utf8')) as {
    version: string;
  };
  return version;
}
