/** What a lock store brings to the contract suite, and the short words in which the suite speaks to it. */
import { afterEach, beforeEach } from '@jest/globals';
import type { AcquireReply, HeldLock, LockListener, LockState, LockStore } from '#lib/store/lock-store.js';

export interface LockContractStore {
  readonly store: LockStore;
  /** A store on the same locks, as another process has it. */
  openPeer(): LockStore;
  /** Moves the store's clock. Where that is impossible it lets the time pass, so keep it short. */
  advance(ms: number): Promise<void>;
  /** Everything stored is deleted, as by FLUSHALL. */
  deleteEverything(): Promise<void>;
  close(): Promise<void>;
}

/** Brings an empty store. */
export type LockContractFactory = () => Promise<LockContractStore>;

/** Does not run out during a test. */
export const LONG_MS = 60_000;
/** Has run out after `advance(PASSED_MS)`. */
export const SHORT_MS = 40;
export const PASSED_MS = 60;

/** Collects what a process hears. */
export class Ears implements LockListener {
  readonly heard: string[] = [];
  private readonly expected = new Map<string, () => void>();

  granted(owner: string): void {
    this.heard.push(owner);
    this.expected.get(owner)?.();
  }

  resumed(): void {}

  /** Those that were given their lock, in order: a store may say it several times. */
  get heardOnce(): string[] {
    return [...new Set(this.heard)];
  }

  /** Until the owner was given its lock. */
  hears(owner: string): Promise<void> {
    if (this.heard.includes(owner)) return Promise.resolve();
    return new Promise((resolve) => this.expected.set(owner, resolve));
  }
}

interface AskOptions {
  readonly ttlMs?: number;
  /** 0: does not stand in line. */
  readonly waitMs?: number;
  readonly name?: string;
  readonly via?: LockStore;
}

export const LOCK = 'invoice:7';

export class LockDriver {
  readonly ears = new Ears();

  constructor(private readonly contractStore: LockContractStore) {}

  get store(): LockStore {
    return this.contractStore.store;
  }

  openPeer(): LockStore {
    return this.contractStore.openPeer();
  }

  advance(ms: number): Promise<void> {
    return this.contractStore.advance(ms);
  }

  deleteEverything(): Promise<void> {
    return this.contractStore.deleteEverything();
  }

  async close(): Promise<void> {
    await this.contractStore.close();
  }

  ask(owner: string, options: AskOptions = {}): Promise<AcquireReply> {
    const { ttlMs = LONG_MS, waitMs = 0, name = LOCK, via = this.store } = options;
    return via.acquire({ name, owner, ttlMs, waitMs });
  }

  /** Takes a free lock. */
  async take(owner: string, options: AskOptions = {}): Promise<HeldLock> {
    const reply = await this.ask(owner, options);
    if (!reply.granted) throw new Error(`"${owner}" did not get the lock`);
    return { name: options.name ?? LOCK, owner, token: reply.token };
  }

  /** Stands in line. */
  async queue(owner: string, options: AskOptions = {}): Promise<number> {
    const reply = await this.ask(owner, { waitMs: LONG_MS, ...options });
    if (reply.granted) throw new Error(`"${owner}" got the lock at once`);
    return reply.recheckMs;
  }

  inspect(name = LOCK): Promise<LockState> {
    return this.store.inspect(name);
  }

  async holder(name = LOCK): Promise<string | undefined> {
    return (await this.inspect(name)).holder?.owner;
  }

  async waiters(): Promise<readonly string[]> {
    return (await this.inspect()).waiters;
  }
}

/** A fresh store for each test of the surrounding `describe`; its process hears of grants. */
export function useLocks(factory: LockContractFactory): () => LockDriver {
  let driver: LockDriver | undefined;
  beforeEach(async () => {
    driver = new LockDriver(await factory());
    await driver.store.subscribe(driver.ears);
  });
  afterEach(async () => {
    await driver?.close();
    driver = undefined;
  });
  return () => {
    if (!driver) throw new Error('there is a store only while a test runs');
    return driver;
  };
}
