/** Drives one lock of a store by operations of named owners and writes down what happens, comparable across stores. */
import type { HeldLock, LockStore } from '#lib/store/lock-store.js';
import { LONG_MS } from './lock-contract-store.js';

export const OPERATIONS = [
  'try',
  'queue',
  'renew',
  'renew the lease before',
  'release',
  'release the lease before',
  'abandon',
  'write fenced',
  'expire',
] as const;

export interface Step {
  readonly owner: string;
  readonly operation: (typeof OPERATIONS)[number];
}

export interface WorldOptions {
  /** The store as the process of that owner has it. */
  readonly storeOf: (owner: string) => LockStore;
  /** A lock and a fenced key of its own. */
  readonly name: string;
  /** As if the holder's time were over. */
  readonly expire: () => Promise<void>;
}

/** A token stands for itself until `compare` puts its rank there: two stores mint different numbers. */
interface Seen {
  readonly what: string;
  readonly token?: number | undefined;
}

export class World {
  /** Every lease an owner was granted, latest last. */
  private readonly leases = new Map<string, HeldLock[]>();

  constructor(private readonly options: WorldOptions) {}

  async run({ owner, operation }: Step): Promise<Seen> {
    const { name } = this.options;
    const store = this.options.storeOf(owner);
    const lease = this.lease(owner, operation.endsWith('before') ? 1 : 0);
    switch (operation) {
      case 'try':
      case 'queue': {
        const waitMs = operation === 'try' ? 0 : LONG_MS;
        const reply = await store.acquire({ name, owner, ttlMs: LONG_MS, waitMs });
        if (!reply.granted) return { what: 'taken' };
        if (this.lease(owner, 0).token !== reply.token) this.note({ name, owner, token: reply.token });
        return { what: 'granted', token: reply.token };
      }
      case 'renew':
      case 'renew the lease before':
        return { what: `lost: ${(await store.renew([{ ...lease, ttlMs: LONG_MS }])).join()}` };
      case 'release':
      case 'release the lease before':
        return { what: `released: ${await store.release(lease)}` };
      case 'abandon':
        await store.abandon(name, owner);
        return { what: 'abandoned' };
      case 'write fenced': {
        const reply = await store.fencedSet(name, owner, lease);
        return { what: `written: ${reply.written}`, token: reply.written ? lease.token : reply.current };
      }
      case 'expire':
        break;
    }
    await this.options.expire();
    return { what: 'expired' };
  }

  /** What an outsider sees. */
  async look(): Promise<readonly Seen[]> {
    const { name } = this.options;
    const store = this.options.storeOf('an outsider');
    const { holder, waiters } = await store.inspect(name);
    const value = await store.fencedGet(name);
    return [
      { what: `held by ${holder?.owner}`, token: holder?.token },
      { what: `wait: ${waiters.join()}` },
      { what: `value of ${value?.owner}`, token: value?.token },
    ];
  }

  private lease(owner: string, back: number): HeldLock {
    const never = { name: this.options.name, owner, token: 1 };
    return this.leases.get(owner)?.at(-1 - back) ?? never;
  }

  private note(lease: HeldLock): void {
    this.leases.set(lease.owner, [...(this.leases.get(lease.owner) ?? []), lease]);
  }
}

/** With the rank of each token in place of the token. */
export function comparable(seen: readonly Seen[]): string[] {
  const tokens = seen.flatMap(({ token }) => (token === undefined ? [] : [token]));
  const ranks = [...new Set(tokens)].toSorted((a, b) => a - b);
  return seen.map(({ what, token }) => (token === undefined ? what : `${what} #${ranks.indexOf(token)}`));
}
