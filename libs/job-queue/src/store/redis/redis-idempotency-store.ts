/** Idempotency records in Redis: a hash per key, in a slot of its own, and one script per transition. */
import type { FencingToken } from '../../job/job.js';
import { INTERNAL } from '../../options/defaults.js';
import type { BeginReply, IdempotencyRecord, IdempotencyStore } from '../idempotency-store.js';
import { RedisCallError } from './connection.js';
import { IdempotencyKeys } from './keys.js';
import { ScriptRunner, type ScriptName } from './script-runner.js';
import type { StoreConnection } from './store-connection.js';

type Args = readonly (string | number)[];

export class RedisIdempotencyStore implements IdempotencyStore {
  constructor(
    private readonly connection: StoreConnection,
    private readonly prefix: string,
  ) {}

  async begin(
    key: string,
    fingerprint: string | undefined,
    owner: string,
    leaseMs: number,
  ): Promise<BeginReply> {
    const args = [fingerprint ?? '', owner, leaseMs, INTERNAL.forgetAbandonedClaimMs];
    const reply: unknown = await this.runAgainIfUnsure('idempotency-begin', key, args);
    const [kind, first, second]: readonly unknown[] = Array.isArray(reply) ? reply : [];
    switch (kind) {
      case 'started':
        return { kind, token: Number(first), takenOver: second === 1 };
      case 'replay':
        return { kind, result: String(first) };
      case 'conflict':
        return { kind };
      case 'busy':
        return { kind, remainingMs: Number(first) };
      default:
        throw new TypeError(`idempotency-begin answered ${JSON.stringify(reply)}`);
    }
  }

  async renew(key: string, token: FencingToken, leaseMs: number): Promise<boolean> {
    const args = [token, leaseMs, INTERNAL.forgetAbandonedClaimMs];
    return (await this.runAgainIfUnsure('idempotency-renew', key, args)) === 1;
  }

  async complete(key: string, token: FencingToken, result: string, ttlMs: number): Promise<boolean> {
    return (await this.runAgainIfUnsure('idempotency-complete', key, [token, result, ttlMs])) === 1;
  }

  async release(key: string, token: FencingToken): Promise<boolean> {
    return (await this.run('idempotency-release', key, [token, INTERNAL.lockFenceKeepMs])) === 1;
  }

  async inspect(key: string): Promise<IdempotencyRecord | undefined> {
    const { record } = new IdempotencyKeys(this.prefix, key);
    const fields = await this.connection.call(record, (client) => client.hgetall(record));
    const { status, fencing_token: token, lease_owner: owner, started_at: startedAt } = fields;
    if (status !== 'processing' && status !== 'done') return undefined;
    return {
      status,
      fencingToken: Number(token),
      owner: owner ?? '',
      fingerprint: fields['fingerprint'],
      startedAt: Number(startedAt),
      leaseExpiresAt: optionalNumber(fields['lease_expires_at']),
      completedAt: optionalNumber(fields['completed_at']),
      expiresAt: optionalNumber(fields['expires_at']),
      result: fields['result'],
    };
  }

  private run(name: ScriptName, key: string, args: Args): Promise<unknown> {
    return new ScriptRunner(this.connection, new IdempotencyKeys(this.prefix, key)).run(name, args);
  }

  /**
   * For scripts that may be repeated. A `begin` that ran without its reply arriving would otherwise keep
   * everyone out for a whole lease, its own caller included.
   */
  private async runAgainIfUnsure(name: ScriptName, key: string, args: Args): Promise<unknown> {
    try {
      return await this.run(name, key, args);
    } catch (error) {
      if (!(error instanceof RedisCallError) || !error.mayHaveRun) throw error;
      return this.run(name, key, args);
    }
  }
}

function optionalNumber(field: string | undefined): number | undefined {
  return field === undefined ? undefined : Number(field);
}
