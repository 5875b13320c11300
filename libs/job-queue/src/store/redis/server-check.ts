/** Judges a server by what it says of itself: is it new enough, and set up so that jobs are safe? */
import { IncompatibleStoreError } from '../../errors/errors.js';

const OLDEST_REDIS_MAJOR = 7;

export interface Judgement {
  /** Why it can never be used. */
  readonly problem: IncompatibleStoreError | undefined;
  /** What a person should know. */
  readonly warnings: readonly string[];
}

/** @param info the reply of INFO */
export function judgeServer(
  info: string,
  address: string,
  { inCluster }: { readonly inCluster?: boolean },
): Judgement {
  const field = (name: string): string => new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1] ?? '';
  const version = field('redis_version');
  // Valkey reports the Redis version that it is compatible with in the same field.
  if (version !== '' && Number.parseInt(version, 10) < OLDEST_REDIS_MAJOR) {
    const problem = new IncompatibleStoreError(
      `Redis ${version} at ${address} is too old: Fenceline needs Redis 7.0 or newer, or Valkey. ` +
        'Upgrade the server or connect to another one.',
    );
    return { problem, warnings: [] };
  }
  const warnings: string[] = [];
  const policy = field('maxmemory_policy');
  if (policy !== '' && policy !== 'noeviction') {
    warnings.push(
      `Redis at ${address} has maxmemory-policy "${policy}": when it is full it deletes jobs, locks and ` +
        'leases. Set it with: CONFIG SET maxmemory-policy noeviction',
    );
  }
  if (field('cluster_enabled') === '1' && !inCluster) {
    warnings.push(
      `Redis at ${address} belongs to a cluster, and only what it stores itself can be used. ` +
        'To use all of the cluster, set connection: { cluster: [{ host, port }, …] }',
    );
  }
  return { problem: undefined, warnings };
}
