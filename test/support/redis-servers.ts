/**
 * The servers on which the contract suites run: those of REDIS_SERVERS, paths of redis-server or valkey-server
 * binaries with commas between them. Without it, the Redis of the test run.
 */
import { spawnSync } from 'node:child_process';
import { afterAll, beforeAll } from '@jest/globals';
import { startServer, type StartedServer } from '#scripts/find-redis.mjs';
import { redisUrl } from './redis.js';

export interface Server {
  /** For the titles of tests: `Redis 7.0.15`. */
  readonly name: string;
  /** Of the binary; `undefined` for the Redis of the test run. */
  readonly binary: string | undefined;
}

export const SERVERS: readonly Server[] = namedServers(process.env.REDIS_SERVERS ?? '');

function namedServers(list: string): Server[] {
  const binaries = list
    .split(',')
    .map((path) => path.trim())
    .filter(Boolean);
  if (binaries.length === 0) return [{ name: 'Redis', binary: undefined }];
  return binaries.map((binary) => ({ name: nameOf(binary), binary }));
}

/** Reads `Redis server v=7.0.15 sha=…` or `Valkey server v=8.1.1 sha=…`. */
function nameOf(binary: string): string {
  const { stdout, error } = spawnSync(binary, ['--version'], { encoding: 'utf8' });
  if (error) throw new Error(`REDIS_SERVERS names ${binary}, which does not run`, { cause: error });
  const [, product, version] = /^(\w+) server v=(\S+)/.exec(stdout) ?? [];
  return product === undefined ? binary : `${product} ${version}`;
}

/** Runs the server for the tests of the surrounding `describe`; the answer is its URL. */
export function useServer({ binary }: Server, args: string[] = []): () => string {
  if (binary === undefined && args.length === 0) return redisUrl;
  let started: StartedServer | undefined;
  beforeAll(async () => {
    started = await startServer({ ...(binary !== undefined && { binary }), args });
  });
  afterAll(() => started?.stop());
  return () => {
    if (!started) throw new Error('the server runs only while tests run');
    return started.url;
  };
}
