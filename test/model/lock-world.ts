/** One store of locks, as several processes have it, under the commands of the model test. */
import type { HeldLock, LockStore } from '#lib/store/lock-store.js';
import { LOCKS, type LeaseChoice, type LockCommand } from './lock-commands.js';
import type { World } from './model-run.js';

interface Asked {
  readonly lock: string;
  readonly owner: string;
  readonly store: LockStore;
}

export class LockWorld implements World<LockCommand> {
  /** In the order in which they were granted: the same in every store. */
  private readonly leases: HeldLock[] = [];
  private readonly asked: Asked[] = [];

  constructor(
    /** One per process. */
    private readonly stores: readonly [LockStore, ...LockStore[]],
    private readonly pass: (ms: number) => Promise<void>,
  ) {}

  mayRun(command: LockCommand): boolean {
    if (command.name === 'abandon') return this.asked.length > 0;
    const needsLease = command.name === 'renew' || command.name === 'release' || command.name === 'write';
    return !needsLease || this.leases.length > 0;
  }

  async run(command: LockCommand): Promise<unknown> {
    const [store] = this.stores;
    switch (command.name) {
      case 'acquire':
        return this.acquire(command);
      case 'renew': {
        const { ttlMs } = command;
        return store.renew(command.leases.map((choice) => ({ ...this.leaseOf(choice), ttlMs })));
      }
      case 'release':
        return store.release(this.leaseOf(command.lease));
      case 'abandon': {
        const who = this.asked[this.asked.length - 1 - (command.asked % this.asked.length)];
        return who && who.store.abandon(who.lock, who.owner);
      }
      case 'write': {
        const { name, owner, token } = this.leaseOf(command.lease);
        const lease = { owner: command.twin ? `twin of ${owner}` : owner, token };
        const reply = await store.fencedSet(name, command.value, lease);
        return reply.written || { ...reply, current: this.numberOf(name, reply.current) };
      }
      case 'pass':
        return this.pass(command.ms);
      default:
        throw new Error('no such command');
    }
  }

  async look(): Promise<unknown> {
    const [store] = this.stores;
    const locks = await Promise.all(LOCKS.map((lock) => store.inspect(lock)));
    const values = await Promise.all(LOCKS.map((lock) => store.fencedGet(lock)));
    return {
      locks: locks.map(({ holder, waiters }, i) => ({
        // A token that its owner has not taken up yet has no number.
        holder: holder && { ...holder, token: this.numberOf(LOCKS[i], holder.token) },
        waiters,
      })),
      values: values.map((value, i) => value && { ...value, token: this.numberOf(LOCKS[i], value.token) }),
    };
  }

  private async acquire(command: Extract<LockCommand, { name: 'acquire' }>): Promise<unknown> {
    const { lock, ttlMs, waitMs, process } = command;
    const before = this.asked.filter((one) => one.lock === lock);
    const again = command.again === undefined ? undefined : before.at(-1 - command.again);
    const store = this.stores[process] ?? this.stores[0];
    const who = again ?? { lock, owner: `owner-${this.asked.length}`, store };
    if (!again) this.asked.push(who);
    const { owner } = who;
    const reply = await who.store.acquire({ name: lock, owner, ttlMs, waitMs });
    if (!reply.granted) return reply;
    const lease = { name: lock, owner, token: reply.token };
    const isHigher = this.note(lease);
    return { granted: true, token: this.numberOf(lock, reply.token), isHigher };
  }

  /** Whether the lease is new, and its token higher than every earlier one of the lock. */
  private note(lease: HeldLock): boolean {
    const earlier = this.leases.filter(({ name }) => name === lease.name).map(({ token }) => token);
    if (earlier.includes(lease.token)) return false;
    this.leases.push(lease);
    return lease.token > Math.max(0, ...earlier);
  }

  private leaseOf(choice: LeaseChoice): HeldLock {
    const lease = this.leases[this.leases.length - 1 - (choice % this.leases.length)];
    if (!lease) throw new Error('there was no lease to choose from');
    return lease;
  }

  /** Two stores mint different tokens: what is compared is whose they are. Each lock mints its own. */
  private numberOf(lock: string | undefined, token: number): number {
    return this.leases.findIndex((lease) => lease.name === lock && lease.token === token);
  }
}
