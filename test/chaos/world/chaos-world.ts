/** One chaos run: a Redis of its own, workers and producers behind proxies, their histories, and the verdict. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobQueueModuleOptions } from '@fenceline/nestjs';
import type { Redis } from 'ioredis';
import { eventually } from '../../support/eventually.js';
import { OwnRedis } from '../../support/own-redis.js';
import { openRedis } from '../../support/redis.js';
import type { Evidence } from '../checker/evidence.js';
import { FaultProxy } from '../faults/fault-proxy.js';
import { HistoryWriter } from '../history/history-writer.js';
import { readHistories } from '../history/read-histories.js';
import { RowStore } from '../processes/row-store.js';
import type { Task } from '../processes/protocol.js';
import { Random } from '../random.js';
import type { Role } from './chaos-child.js';
import { ChaosSlot } from './chaos-slot.js';
import { readFinalState } from './final-state.js';

export interface ChaosSettings {
  readonly seed: number;
  readonly workers?: number;
  readonly producers?: number;
  readonly jobsPerSecond?: number;
  readonly redis?: readonly string[];
  /** By how much the clocks of the workers are wrong, one after the other. */
  readonly clockShiftsMs?: readonly number[];
  /** Redis may lose what it acknowledged: what is lost is then measured, not forbidden. */
  readonly mayLose?: boolean;
}

export const LEASE_MS = 1_500;
export const REAP_INTERVAL_MS = 1_000;
export const COMMAND_TIMEOUT_MS = 1_000;
/** What the promise allows for on top of a lease and a reap. */
export const DRAIN_SLACK_MS = 5_000;
/** A worker: for commands, to sleep on the wake list, and for messages about locks. */
const CONNECTIONS = { worker: 3, producer: 1 } as const;
const PREFIX = 'chaos';
const POLL_MS = 50;
const DRAIN_TIMEOUT_MS = 60_000;

const MODULE: JobQueueModuleOptions = {
  queues: [
    {
      name: 'jobs',
      concurrency: 20,
      leaseMs: LEASE_MS,
      abortGraceMs: 2_000,
      backoff: { baseDelayMs: 50, maxDelayMs: 400 },
      // Nothing is pruned: the checker wants to see every job.
      retention: {
        done: { count: 1_000_000 },
        dead: { count: 1_000_000 },
        cancelled: { count: 1_000_000 },
      },
    },
  ],
  commandTimeoutMs: COMMAND_TIMEOUT_MS,
  shutdownTimeoutMs: 6_000,
  maintenance: { reapIntervalMs: REAP_INTERVAL_MS, promoteIntervalMs: 1_000 },
};

export class ChaosWorld {
  readonly random: Random;
  readonly workers: ChaosSlot[] = [];
  readonly producers: ChaosSlot[] = [];
  private readonly proxies: FaultProxy[] = [];
  private readonly taken = new Set<ChaosSlot>();

  private constructor(
    private readonly settings: ChaosSettings,
    readonly redis: OwnRedis,
    private readonly folder: string,
    readonly history: HistoryWriter,
    private readonly rows: RowStore,
  ) {
    this.random = new Random(settings.seed, 'world');
  }

  /** Redis and the proxies; nothing that uses them yet. */
  static async open(settings: ChaosSettings): Promise<ChaosWorld> {
    const folder = mkdtempSync(join(tmpdir(), 'fenceline-chaos-'));
    const redis = await OwnRedis.start(settings.redis);
    const rows = await RowStore.start(join(folder, 'rows.sock'), new HistoryWriter(folder, 'rows'));
    const world = new ChaosWorld(settings, redis, folder, new HistoryWriter(folder, 'world'), rows);
    const { workers = 3, producers = 1 } = settings;
    for (let i = 1; i <= workers; i++) await world.addSlot('worker', i);
    for (let i = 1; i <= producers; i++) await world.addSlot('producer', i);
    return world;
  }

  get slots(): readonly ChaosSlot[] {
    return [...this.workers, ...this.producers];
  }

  async startAll(): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.spawn()));
  }

  /** One that no other fault is at. It is alive, and nobody else touches it until `use` has ended. */
  async withSlot(role: Role, use: (slot: ChaosSlot) => Promise<void>): Promise<void> {
    const free = (role === 'worker' ? this.workers : this.producers).filter((slot) => !this.taken.has(slot));
    if (free.length === 0) return;
    const slot = this.random.pick(free);
    this.taken.add(slot);
    try {
      await use(slot);
    } finally {
      this.taken.delete(slot);
    }
  }

  /** Jobs of a kind of which producers make none by themselves. */
  async enqueue(jobs: number, task: Task): Promise<void> {
    await this.withSlot('producer', async (slot) => slot.current.enqueue(jobs, task));
  }

  fault(fault: string, target?: string): void {
    this.history.record({ kind: 'fault', fault, ...(target !== undefined && { target }) });
  }

  /** Until workers have ended this many jobs more. */
  async untilDone(more: number): Promise<void> {
    const from = await this.doneCount();
    await eventually(async () => (await this.doneCount()) >= from + more, {
      what: `the end of ${more} more jobs`,
      timeoutMs: DRAIN_TIMEOUT_MS,
    });
  }

  /**
   * Nothing is disturbed any more and nothing new comes; from here on the clock of the promise runs. Whoever
   * works must come back by himself.
   */
  async healAndDrain(): Promise<void> {
    for (const proxy of this.proxies) proxy.heal();
    this.history.record({ kind: 'healed' });
    await Promise.all(
      this.producers.filter((slot) => slot.isAlive).map((slot) => slot.current.stopProducing()),
    );
    await this.drain();
    this.history.record({ kind: 'drained' });
    for (const { role, proxy, current } of this.slots.filter((slot) => slot.isAlive)) {
      const { connections: open } = proxy;
      this.history.record({ kind: 'connections', target: current.name, open, needed: CONNECTIONS[role] });
    }
  }

  /** Ends all processes as an operator would. */
  async shutDown(): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.terminate()));
    for (const proxy of this.proxies) proxy.forgetAbandoned();
  }

  /** All that the checker may look at. */
  async evidence(): Promise<Evidence> {
    const client = openRedis(this.redis.url);
    try {
      const clients =
        String(await client.call('CLIENT', 'LIST'))
          .trim()
          .split('\n').length - 1;
      return {
        entries: readHistories(this.folder),
        final: await readFinalState(client, PREFIX),
        openConnections: clients,
        complaints: this.slots.flatMap((slot) => slot.complaints),
        leaseMs: LEASE_MS,
        drainWithinMs: LEASE_MS + REAP_INTERVAL_MS + DRAIN_SLACK_MS,
        mayLose: this.settings.mayLose ?? false,
      };
    } finally {
      client.disconnect();
    }
  }

  /** Where the histories are; kept when `keepHistories` is asked for. */
  get histories(): string {
    return this.folder;
  }

  async close({ keepHistories = false } = {}): Promise<void> {
    await Promise.all(this.slots.map((slot) => slot.destroy()));
    await Promise.all(this.proxies.map((proxy) => proxy.close()));
    await this.rows.stop();
    this.history.close();
    await this.redis.close();
    if (!keepHistories) rmSync(this.folder, { recursive: true, force: true });
  }

  private async addSlot(role: Role, number: number): Promise<void> {
    const { settings, folder, history, redis } = this;
    const proxy = await FaultProxy.start(redis.port);
    this.proxies.push(proxy);
    const slot = new ChaosSlot({
      role,
      name: `${role}-${number}`,
      proxy,
      history,
      clockShiftMs: role === 'worker' ? (settings.clockShiftsMs?.[number - 1] ?? 0) : 0,
      options: {
        folder,
        prefix: PREFIX,
        seed: settings.seed,
        module: MODULE,
        rowStore: join(folder, 'rows.sock'),
        jobsPerSecond: settings.jobsPerSecond ?? 200,
        diesWhenReaping: false,
      },
    });
    (role === 'worker' ? this.workers : this.producers).push(slot);
  }

  private async drain(): Promise<void> {
    await eventually(async () => (await this.pendingCount()) === 0, {
      what: 'the end of all jobs',
      timeoutMs: DRAIN_TIMEOUT_MS,
    });
  }

  private async doneCount(): Promise<number> {
    await sleep(POLL_MS);
    return Number(await this.redis.command('ZCARD', `${PREFIX}:{jobs}:done`));
  }

  /** Counted on Redis, not by the product. */
  private async pendingCount(): Promise<number> {
    await sleep(POLL_MS);
    const client = openRedis(this.redis.url);
    try {
      return await countPending(client);
    } finally {
      client.disconnect();
    }
  }
}

async function countPending(client: Redis): Promise<number> {
  const base = `${PREFIX}:{jobs}:`;
  const lists = Array.from({ length: 10 }, (_, priority) => client.llen(`${base}queued:${priority}`));
  const indexes = ['processing', 'scheduled', 'retry', 'blocked'].map((name) => client.zcard(base + name));
  const sizes = await Promise.all([...lists, ...indexes]);
  return sizes.reduce((sum, size) => sum + size, 0);
}
