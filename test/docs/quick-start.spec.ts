/** The quick start of the README, run as a program of its own against the built library, on both stores. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { transformSync } from '@swc/core';
import { deletePrefix, keysOf, newPrefix, openRedis, redisUrl } from '../support/redis.js';
import { codeBlocks, readDocument, ROOT } from './markdown.js';

const [program = ''] = codeBlocks(readDocument('README.md'), 'ts');
/** What the test adds: a namespace of its own. */
const MODULE_OPTIONS = 'forRoot({ connection })';

describe('the quick start', () => {
  let directory: string;
  // Inside the project, so that the program finds its packages.
  beforeAll(() => void (directory = mkdtempSync(join(ROOT, 'dist', 'quick-start-'))));
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it('fits on a screen', () => {
    expect(program.trim().split('\n').length).toBeLessThanOrEqual(30);
  });

  it('runs its job in memory', async () => {
    const { code, output } = await run(directory, program, undefined);
    expect(output).toContain("done { sentTo: 'ada@example.com' }");
    expect(output).not.toMatch(/WARN|ERROR/);
    expect(code).toBe(0);
  });

  it('runs its job on Redis', async () => {
    const prefix = newPrefix();
    const redis = openRedis();
    try {
      expect(program).toContain(MODULE_OPTIONS);
      const own = program.replace(MODULE_OPTIONS, `forRoot({ connection, prefix: '${prefix}' })`);
      const { code, output } = await run(directory, own, redisUrl());
      expect(output).toContain("done { sentTo: 'ada@example.com' }");
      expect(output).not.toMatch(/ERROR/);
      expect(code).toBe(0);
      const [run_ = ''] = (await keysOf(redis, prefix)).filter((key) => key.includes(':run:'));
      expect(await redis.hget(run_, 'status')).toBe('done');
    } finally {
      await deletePrefix(redis, prefix);
      redis.disconnect();
    }
  });
});

async function run(
  directory: string,
  source: string,
  url: string | undefined,
): Promise<{ code: number | null; output: string }> {
  const { code } = transformSync(source, {
    swcrc: false,
    module: { type: 'es6' },
    jsc: {
      target: 'es2023',
      parser: { syntax: 'typescript', decorators: true },
      transform: { legacyDecorator: true, decoratorMetadata: true },
    },
  });
  const file = join(directory, `${url === undefined ? 'memory' : 'redis'}.mjs`);
  writeFileSync(file, code);
  const { REDIS_URL: _redisUrl, ...env } = process.env;
  const child = spawn(process.execPath, [file], {
    cwd: ROOT,
    env: { ...env, NODE_OPTIONS: '', NO_COLOR: '1', ...(url !== undefined && { REDIS_URL: url }) },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => void (output += chunk));
  const [exitCode] = (await once(child, 'close')) as [number | null];
  return { code: exitCode, output };
}
