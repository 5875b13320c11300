/** Drives an idempotency store with the commands of two owners on one key; the memory store is the model. */
import fc from 'fast-check';
import type { IdempotencyStore } from '#lib/store/idempotency-store.js';
import { MemoryIdempotencyStore } from '#lib/store/memory/memory-idempotency-store.js';

const LEASE_MS = 60_000;
const TTL_MS = 1_000_000_000;

export const OWNERS = ['a', 'b'] as const;
export const KINDS = ['begin', 'begin_other', 'renew', 'complete', 'release'] as const;

export interface Command {
  /** `expire`: the lease of whoever runs the operation runs out. */
  readonly kind: (typeof KINDS)[number] | 'expire';
  readonly owner: (typeof OWNERS)[number];
}

export function command(): fc.Arbitrary<Command> {
  return fc.record({ kind: fc.constantFrom(...KINDS, 'expire' as const), owner: fc.constantFrom(...OWNERS) });
}

abstract class Driver {
  private readonly tokens = new Map<string, number>();
  /** Each run is an owner of its own, as in life: a new one after the last one ended. */
  private readonly runs = new Map<string, number>();

  protected abstract readonly store: IdempotencyStore;
  protected abstract readonly key: string;
  protected abstract expire(): Promise<void>;

  /** What the store answered, with nothing in it that depends on the time. */
  async apply({ kind, owner }: Command): Promise<unknown> {
    // An owner that was never given a token has one that nobody has.
    const token = this.tokens.get(owner) ?? 1;
    switch (kind) {
      case 'begin':
      case 'begin_other': {
        const run = (this.runs.get(owner) ?? 0) + 1;
        this.runs.set(owner, run);
        const fingerprint = kind === 'begin' ? 'f' : 'g';
        const reply = await this.store.begin(this.key, fingerprint, `${owner}-${run}`, LEASE_MS);
        if (reply.kind !== 'started') return reply.kind === 'replay' ? reply : { kind: reply.kind };
        const highest = Math.max(0, ...this.tokens.values());
        this.tokens.set(owner, reply.token);
        return { kind: reply.kind, takenOver: reply.takenOver, isHigher: reply.token > highest };
      }
      case 'renew':
        return this.store.renew(this.key, token, LEASE_MS);
      case 'complete':
        return this.store.complete(this.key, token, `{"value":"${owner}"}`, TTL_MS);
      case 'release':
        return this.store.release(this.key, token);
      case 'expire':
        return this.expire();
      default:
        throw new Error('no such command');
    }
  }

  async state(): Promise<unknown> {
    const record = await this.store.inspect(this.key);
    if (!record) return undefined;
    const { status, owner, fingerprint, result, fencingToken } = record;
    const holders = OWNERS.filter((name) => this.tokens.get(name) === fencingToken);
    return { status, owner, fingerprint, result, holders };
  }
}

export class IdempotencyModel extends Driver {
  private now = 1_000_000_000_000;
  protected readonly key = 'key';
  protected readonly store = new MemoryIdempotencyStore({ clock: () => this.now });

  protected async expire(): Promise<void> {
    const record = await this.store.inspect(this.key);
    if (record?.leaseExpiresAt !== undefined) this.now = Math.max(this.now, record.leaseExpiresAt);
  }
}

export interface RealStore {
  readonly store: IdempotencyStore;
  expireLease(key: string): Promise<void>;
}

export class IdempotencyRunner extends Driver {
  protected readonly store: IdempotencyStore;

  constructor(
    private readonly real: RealStore,
    protected readonly key: string,
  ) {
    super();
    this.store = real.store;
  }

  protected expire(): Promise<void> {
    return this.real.expireLease(this.key);
  }
}
