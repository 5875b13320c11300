/** Loads the Lua files and runs them: EVALSHA, and the whole text once when the server does not know it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { RedisConnection } from './connection.js';
import type { QueueKeys } from './keys.js';

const SCRIPTS_DIR = join(dirname(fileURLToPath(import.meta.url)), 'scripts');

export const SCRIPT_NAMES = [
  'enqueue',
  'claim',
  'claim-again',
  'settle',
  'renew',
  'sign-off',
  'reap',
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
  'recent',
  'count',
  'wake',
] as const;
export type ScriptName = (typeof SCRIPT_NAMES)[number];

interface Script {
  readonly source: string;
  readonly sha: string;
}

const read = (file: string): string => readFileSync(join(SCRIPTS_DIR, `${file}.lua`), 'utf8');
let scripts: Readonly<Record<ScriptName, Script>> | undefined;

/** The `#!lua` line must stay first, so the prelude goes in behind it. */
function loadScripts(): Readonly<Record<ScriptName, Script>> {
  const prelude = read('prelude');
  const load = (name: ScriptName): Script => {
    const text = read(name);
    const headEnd = text.indexOf('\n') + 1;
    const source = `${text.slice(0, headEnd)}${prelude}\n${text.slice(headEnd)}`;
    return { source, sha: createHash('sha1').update(source).digest('hex') };
  };
  return Object.fromEntries(SCRIPT_NAMES.map((name) => [name, load(name)])) as Record<ScriptName, Script>;
}

export class ScriptRunner {
  private readonly scripts: Readonly<Record<ScriptName, Script>>;

  constructor(
    private readonly connection: RedisConnection,
    private readonly keys: QueueKeys,
  ) {
    this.scripts = scripts ??= loadScripts();
  }

  /**
   * Runs a script once.
   * @throws RedisCallError when Redis cannot be reached or refuses for now.
   */
  async run(name: ScriptName, args: readonly (string | number)[]): Promise<unknown> {
    const { sha, source } = this.scripts[name];
    const { meta, absent } = this.keys;
    return this.connection.call(async (client) => {
      try {
        return await client.evalsha(sha, 2, meta, absent, ...args);
      } catch (error) {
        // The server never saw the script, or SCRIPT FLUSH or a restart made it forget: nothing has run.
        if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
        return client.eval(source, 2, meta, absent, ...args);
      }
    });
  }
}
