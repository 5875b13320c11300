/**
 * Which commands the user of a connection must be allowed, asked at boot: a script that meets a forbidden one has
 * done half of its work by then. The rules for operators are in docs/security.md.
 */
import { IncompatibleStoreError } from '../../errors/errors.js';
import { QueueKeys } from './keys.js';
import { ScriptRunner } from './script-runner.js';
import type { StoreConnection } from './store-connection.js';

/**
 * What an enqueue does inside of its scripts. TIME is not among them: it comes first in every script, so that one
 * without it stops before it has done anything.
 */
const TO_ENQUEUE =
  'exists expire get hdel hexists hget hincrby hmget hset hsetnx llen lpop lpush msetnx pexpire rpush set setnx unlink zadd zrange zrem zscore';
/** What workers, maintenance and administration do beyond that, and locks. A channel cannot be asked about in this way. */
const TO_WORK = 'blpop del getrange hgetall hvals lmpop lpos lrange mget pttl zcard zrank';

/** @throws IncompatibleStoreError naming the commands that are forbidden */
export async function checkPermissions(
  connection: StoreConnection,
  { prefix, queue, worker }: { readonly prefix: string; readonly queue: string; readonly worker: boolean },
): Promise<void> {
  const runner = new ScriptRunner(connection, new QueueKeys(prefix, queue));
  const commands = (worker ? `${TO_ENQUEUE} ${TO_WORK}` : TO_ENQUEUE).split(' ');
  // A server that cannot be asked, or that is away again, is left to the calls themselves.
  const forbidden: unknown = await runner.run('permissions', commands).catch(() => []);
  if (!Array.isArray(forbidden) || forbidden.length === 0) return;
  const rules = forbidden.map((command) => `+${String(command)}`).join(' ');
  throw new IncompatibleStoreError(
    `Redis at ${connection.address} forbids commands to the user of this connection, and scripts would stop halfway. ` +
      `Allow them with ACL SETUSER and: ${rules}. docs/security.md has all rules that are needed.`,
  );
}
