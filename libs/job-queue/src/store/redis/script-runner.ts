/** Loads the Lua files and runs them: EVALSHA, and the whole text once when the server does not know it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RedisConnection } from './connection.js';

const SCRIPTS_DIR = join(dirname(fileURLToPath(import.meta.url)), 'scripts');

export const SCRIPT_NAMES = [
  'enqueue',
  'enqueue-keyed',
  'claim',
  'claim-again',
  'settle',
  'renew',
  'sign-off',
  'reap',
  'free-waiters',
  'promote',
  'prune',
  'cancel',
  'remove',
  'redrive',
  'pause',
  'write-checkpoint',
  'read',
  'list-index',
  'list-queued',
  'snapshot',
  'mark',
  'recent',
  'count',
  'wake',
  'lock-acquire',
  'lock-renew',
  'lock-release',
  'lock-abandon',
  'lock-inspect',
  'fenced-set',
  'idempotency-begin',
  'idempotency-renew',
  'idempotency-complete',
  'idempotency-release',
] as const;
export type ScriptName = (typeof SCRIPT_NAMES)[number];

/** The two keys that every script declares. */
export interface ScriptKeys {
  readonly declared: readonly [first: string, absent: string];
}

interface Script {
  readonly source: string;
  readonly sha: string;
}

const read = (file: string): string => readFileSync(join(SCRIPTS_DIR, `${file}.lua`), 'utf8');
let scripts: Readonly<Record<ScriptName, Script>> | undefined;

/** The `#!lua` line must stay first, so what all scripts share goes in behind it. */
function loadScripts(): Readonly<Record<ScriptName, Script>> {
  const prelude = read('prelude');
  const parts = { jobs: read('keys'), locks: read('locks') };
  const load = (name: ScriptName): Script => {
    const text = read(name);
    const headEnd = text.indexOf('\n') + 1;
    const shared = name.startsWith('lock-') ? parts.locks : parts.jobs;
    const source = `${text.slice(0, headEnd)}${prelude}\n${shared}\n${text.slice(headEnd)}`;
    return { source, sha: createHash('sha1').update(source).digest('hex') };
  };
  return Object.fromEntries(SCRIPT_NAMES.map((name) => [name, load(name)])) as Record<ScriptName, Script>;
}

export class ScriptRunner {
  private readonly scripts: Readonly<Record<ScriptName, Script>>;

  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: ScriptKeys,
  ) {
    this.scripts = scripts ??= loadScripts();
  }

  /**
   * Runs a script once.
   * @throws RedisCallError when Redis cannot be reached or refuses for now.
   */
  async run(name: ScriptName, args: readonly (string | number)[]): Promise<unknown> {
    const { sha, source } = this.scripts[name];
    const [first, absent] = this.keys.declared;
    return this.connection.call(async (client) => {
      try {
        return await client.evalsha(sha, 2, first, absent, ...args);
      } catch (error) {
        // The server never saw the script, or SCRIPT FLUSH or a restart made it forget: nothing has run.
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return client.eval(source, 2, first, absent, ...args);
      }
    });
  }
}

export interface PipelinedCall {
  readonly keys: ScriptKeys;
  readonly args: readonly (string | number)[];
}

/**
 * Runs a script once per call, each on keys of its own, in one write. The calls must not depend on their order.
 * @throws RedisCallError when Redis cannot be reached or refuses any of them for now; the others may have run.
 */
export function runPipelined(
  connection: RedisConnection,
  name: ScriptName,
  calls: readonly PipelinedCall[],
): Promise<unknown[]> {
  const { sha, source } = (scripts ??= loadScripts())[name];
  return connection.call(async (client) => {
    const send = async (command: 'evalsha' | 'eval', indexes: readonly number[]): Promise<void> => {
      const pipeline = client.pipeline();
      for (const index of indexes) {
        const call = calls[index];
        if (call)
          pipeline[command](command === 'eval' ? source : sha, 2, ...call.keys.declared, ...call.args);
      }
      const results = (await pipeline.exec()) ?? [];
      indexes.forEach((index, i) => (replies[index] = results[i]?.[1]));
      results.forEach(([error], i) => {
        if (!error) return;
        if (command === 'eval' || !error.message.startsWith('NOSCRIPT')) throw error;
        unknown.push(indexes[i] ?? 0);
      });
    };
    const replies: unknown[] = [];
    const unknown: number[] = [];
    await send('evalsha', [...calls.keys()]);
    if (unknown.length > 0) await send('eval', unknown);
    return replies;
  });
}
