/** Loads the Lua files and runs them: EVALSHA, and the whole text once when the server does not know it. */
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import type { StoreConnection } from './store-connection.js';

const SCRIPTS_DIR = join(dirname(fileURLToPath(import.meta.url)), 'scripts');

/**
 * Each script and the last of the files that go in front of it: all have the prelude, few need more. What a script
 * does not need still costs it time (the helpers for keys: 5 of the 30 µs of a single enqueue).
 */
const SCRIPTS = {
  enqueue: 'prelude',
  'enqueue-keyed': 'keys',
  claim: 'keys',
  'claim-again': 'prelude',
  settle: 'keys',
  renew: 'prelude',
  'sign-off': 'prelude',
  reap: 'keys',
  'free-waiters': 'keys',
  promote: 'prelude',
  prune: 'keys',
  cancel: 'keys',
  remove: 'keys',
  redrive: 'keys',
  pause: 'prelude',
  'write-checkpoint': 'prelude',
  read: 'prelude',
  'list-index': 'prelude',
  'list-queued': 'keys',
  snapshot: 'keys',
  mark: 'prelude',
  recent: 'prelude',
  count: 'prelude',
  wake: 'prelude',
  permissions: 'prelude',
  'record-partitions': 'prelude',
  'lock-acquire': 'locks',
  'lock-renew': 'locks',
  'lock-release': 'locks',
  'lock-abandon': 'locks',
  'lock-inspect': 'locks',
  'fenced-set': 'prelude',
  'idempotency-begin': 'prelude',
  'idempotency-renew': 'prelude',
  'idempotency-complete': 'prelude',
  'idempotency-release': 'prelude',
} as const satisfies Record<string, 'prelude' | 'keys' | 'locks'>;
export type ScriptName = keyof typeof SCRIPTS;

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

/** The `#!lua` line must stay first, so what scripts share goes in behind it. */
function loadScripts(): Readonly<Record<ScriptName, Script>> {
  const prelude = read('prelude');
  const shared = { prelude, keys: `${prelude}\n${read('keys')}`, locks: `${prelude}\n${read('locks')}` };
  const load = (name: string, needs: keyof typeof shared): Script => {
    const text = read(name);
    const headEnd = text.indexOf('\n') + 1;
    const source = `${text.slice(0, headEnd)}${shared[needs]}\n${text.slice(headEnd)}`;
    return { source, sha: createHash('sha1').update(source).digest('hex') };
  };
  const entries = Object.entries(SCRIPTS).map(([name, needs]) => [name, load(name, needs)]);
  return Object.fromEntries(entries) as Record<ScriptName, Script>;
}

export class ScriptRunner {
  private readonly scripts: Readonly<Record<ScriptName, Script>>;

  constructor(
    private readonly connection: StoreConnection,
    private readonly keys: ScriptKeys,
  ) {
    this.scripts = scripts ??= loadScripts();
  }

  /**
   * Runs a script once.
   * @throws RedisCallError when Redis cannot be reached or refuses for now.
   */
  run(name: ScriptName, args: readonly (string | number)[]): Promise<unknown> {
    return runScript(this.connection, this.keys, this.scripts[name], args);
  }
}

export interface ScriptCall {
  readonly keys: ScriptKeys;
  readonly args: readonly (string | number)[];
}

/**
 * Runs a script once per call, each on keys of its own, in one round trip to each server that has some of the keys.
 * The calls must not depend on their order.
 * @throws RedisCallError when Redis cannot be reached or refuses any of them for now; the others may have run.
 */
export function runEach(
  connection: StoreConnection,
  name: ScriptName,
  calls: readonly ScriptCall[],
): Promise<unknown[]> {
  const script = (scripts ??= loadScripts())[name];
  return Promise.all(calls.map(({ keys, args }) => runScript(connection, keys, script, args)));
}

async function runScript(
  connection: StoreConnection,
  { declared: [first, absent] }: ScriptKeys,
  { sha, source }: Script,
  args: readonly (string | number)[],
): Promise<unknown> {
  const deadline = connection.deadline();
  try {
    return await connection.call(first, (client) => client.evalsha(sha, 2, first, absent, ...args), deadline);
  } catch (error) {
    // The server never saw the script, or SCRIPT FLUSH or a restart made it forget: nothing has run.
    if (!(error instanceof Error) || !error.message.startsWith('NOSCRIPT')) throw error;
    return connection.call(first, (client) => client.eval(source, 2, first, absent, ...args), deadline);
  }
}
