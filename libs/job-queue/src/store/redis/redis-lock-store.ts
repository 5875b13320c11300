/** The production lock store: one script per transition, all keys of a lock in one slot. */
import { newJobId } from '../../job/job-id.js';
import { INTERNAL } from '../../options/defaults.js';
import type {
  AcquireReply,
  AcquireRequest,
  FencedSetReply,
  FencedValue,
  HeldLock,
  LockListener,
  LockRenewal,
  LockState,
  LockStore,
} from '../lock-store.js';
import { FencedValueKeys, lockChannel, LockKeys } from './keys.js';
import { RedisLockSubscription } from './redis-lock-subscription.js';
import { runEach, ScriptRunner, type ScriptKeys } from './script-runner.js';
import type { StoreConnection } from './store-connection.js';

const {
  lockRecheckMs,
  lockRecheckStepMs,
  lockWaiterGraceMs,
  lockTakeUpMs,
  lockFenceKeepMs,
  lockInspectLimit,
} = INTERNAL;

export class RedisLockStore implements LockStore {
  /** Of this store, that is of its process. */
  private readonly channel: string;
  private subscription: RedisLockSubscription | undefined;

  constructor(
    private readonly connection: StoreConnection,
    private readonly prefix: string,
  ) {
    this.channel = lockChannel(prefix, newJobId());
  }

  async acquire({ name, owner, ttlMs, waitMs }: AcquireRequest): Promise<AcquireReply> {
    const reply = await this.on(this.keys(name)).run('lock-acquire', [
      owner,
      ttlMs,
      Math.ceil(waitMs),
      this.channel,
      lockRecheckMs,
      lockWaiterGraceMs,
      lockTakeUpMs,
      lockFenceKeepMs,
      lockRecheckStepMs,
    ]);
    const [token, recheckMs] = list(reply);
    return token === ''
      ? { granted: false, recheckMs: Number(recheckMs) }
      : { granted: true, token: Number(token) };
  }

  async renew(leases: readonly LockRenewal[]): Promise<readonly string[]> {
    if (leases.length === 0) return [];
    const calls = leases.map(({ name, owner, token, ttlMs }) => ({
      keys: this.keys(name),
      args: [owner, token, ttlMs],
    }));
    const replies = await runEach(this.connection, 'lock-renew', calls);
    return leases.filter((_, i) => replies[i] !== 1).map(({ owner }) => owner);
  }

  async release({ name, owner, token }: HeldLock): Promise<boolean> {
    const args = [owner, token, lockTakeUpMs, lockFenceKeepMs];
    return (await this.on(this.keys(name)).run('lock-release', args)) === 1;
  }

  async abandon(name: string, owner: string): Promise<void> {
    await this.on(this.keys(name)).run('lock-abandon', [owner, lockTakeUpMs, lockFenceKeepMs]);
  }

  async inspect(name: string): Promise<LockState> {
    const reply = list(await this.on(this.keys(name)).run('lock-inspect', [lockInspectLimit]));
    const [owner, token, leftMs, acquiredAt, ...waiters] = reply.map(String);
    return {
      holder: owner
        ? { owner, token: Number(token), leftMs: Number(leftMs), acquiredAt: Number(acquiredAt) }
        : undefined,
      waiters,
    };
  }

  async fencedSet(key: string, value: string, lease: Omit<HeldLock, 'name'>): Promise<FencedSetReply> {
    const runner = this.on(new FencedValueKeys(this.prefix, key));
    const current = await runner.run('fenced-set', [value, lease.token, lease.owner]);
    return current === '' ? { written: true } : { written: false, current: Number(current) };
  }

  async fencedGet(key: string): Promise<FencedValue | undefined> {
    const [stored] = new FencedValueKeys(this.prefix, key).declared;
    const { value, fencing_token, owner } = await this.connection.call(stored, (client) =>
      client.hgetall(stored),
    );
    if (value === undefined || owner === undefined) return undefined;
    return { value, token: Number(fencing_token), owner };
  }

  subscribe(listener: LockListener): Promise<void> {
    this.subscription ??= new RedisLockSubscription(
      (use) => this.connection.connectToEach(use),
      this.channel,
      listener,
      INTERNAL.lockSubscriptionPingMs,
    );
    return this.subscription.established;
  }

  async close(): Promise<void> {
    this.subscription?.close();
    this.subscription = undefined;
  }

  private keys(name: string): LockKeys {
    return new LockKeys(this.prefix, name);
  }

  private on(keys: ScriptKeys): ScriptRunner {
    return new ScriptRunner(this.connection, keys);
  }
}

function list(reply: unknown): readonly unknown[] {
  return Array.isArray(reply) ? reply : [];
}
