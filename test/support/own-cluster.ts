/** A Redis Cluster that belongs to one test: real servers, whose slots it can move and whose nodes it can take away. */
import { createServer } from 'node:net';
import { Cluster, Command } from 'ioredis';
import { eventually } from './eventually.js';
import { OwnRedis } from './own-redis.js';

const SLOTS = 16_384;
/** A cluster's servers also listen at their port + 10,000, so an ordinary free port may be too high. */
const BUS_OFFSET = 10_000;
const FIRST_PORT = 22_000;
const LAST_PORT = 32_000;
const NODE_TIMEOUT_MS = 1_500;

export interface ClusterShape {
  readonly primaries?: number;
  readonly replicasEach?: number;
  readonly args?: readonly string[];
}

export class OwnCluster {
  private constructor(
    /** First the primaries, as they were at the start. */
    readonly nodes: readonly OwnRedis[],
    private readonly primaryCount: number,
  ) {}

  static async start({ primaries = 3, replicasEach = 0, args = [] }: ClusterShape = {}): Promise<OwnCluster> {
    const nodes: OwnRedis[] = [];
    const cluster = new OwnCluster(nodes, primaries);
    try {
      for (let i = 0; i < primaries * (1 + replicasEach); i++) nodes.push(await startNode(args));
      await cluster.join();
    } catch (error) {
      await cluster.close();
      throw error;
    }
    return cluster;
  }

  get addresses(): { host: string; port: number }[] {
    return this.nodes.map(({ port }) => ({ host: '127.0.0.1', port }));
  }

  /** A plain client, to look at the cluster from outside. The caller disconnects it. */
  open(): Cluster {
    const client = new Cluster(this.addresses, { slotsRefreshInterval: 500 });
    client.on('error', () => {});
    return client;
  }

  /** Who has the slot, in the eyes of the first node that answers. */
  async ownerOf(slot: number): Promise<OwnRedis> {
    for (const node of this.nodes) {
      const ranges = await node.command('CLUSTER', 'SLOTS').catch(() => undefined);
      if (!Array.isArray(ranges)) continue;
      for (const [from, to, [, port]] of ranges as [number, number, [string, number]][]) {
        const owner = this.nodes.find((one) => one.port === port);
        if (from <= slot && slot <= to && owner) return owner;
      }
    }
    throw new Error(`nobody has slot ${slot}`);
  }

  /** The two sides agree that the slot is being moved; nothing has been moved yet. */
  async beginMove(slot: number, to: OwnRedis): Promise<SlotMove> {
    const from = await this.ownerOf(slot);
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', await idOf(from));
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', await idOf(to));
    return new SlotMove(slot, from, to, this.nodes);
  }

  async close(): Promise<void> {
    await Promise.all(this.nodes.map((node) => node.close()));
  }

  private async join(): Promise<void> {
    const [first, ...others] = this.nodes;
    if (!first) throw new Error('a cluster needs a node');
    const share = Math.ceil(SLOTS / this.primaryCount);
    for (let i = 0; i < this.primaryCount; i++) {
      const last = Math.min((i + 1) * share, SLOTS) - 1;
      await this.nodes[i]?.command('CLUSTER', 'ADDSLOTSRANGE', i * share, last);
    }
    for (const { port } of others) await first.command('CLUSTER', 'MEET', '127.0.0.1', port);
    await this.untilAgreed((info) => info.includes(`cluster_known_nodes:${this.nodes.length}`));
    const replicas = this.nodes.slice(this.primaryCount);
    await Promise.all(replicas.map((replica, i) => replicate(replica, this.nodes[i % this.primaryCount])));
    await this.untilAgreed((info) => info.includes('cluster_state:ok'));
  }

  private async untilAgreed(agrees: (info: string) => boolean): Promise<void> {
    for (const node of this.nodes) {
      const look = async (): Promise<boolean> => agrees(String(await node.command('CLUSTER', 'INFO')));
      await eventually(look, { what: 'agreement among the nodes', timeoutMs: 15_000 });
    }
  }
}

/** A slot on its way to another node, as far as the test has pushed it. */
export class SlotMove {
  constructor(
    private readonly slot: number,
    private readonly from: OwnRedis,
    private readonly to: OwnRedis,
    private readonly all: readonly OwnRedis[],
  ) {}

  /** Moves up to `count` keys. Answers how many were left to move. */
  async moveKeys(count: number): Promise<number> {
    const keys = (await this.from.command('CLUSTER', 'GETKEYSINSLOT', this.slot, count)) as string[];
    if (keys.length > 0) {
      await this.from.command('MIGRATE', '127.0.0.1', this.to.port, '', 0, 5_000, 'KEYS', ...keys);
    }
    return Number(await this.from.command('CLUSTER', 'COUNTKEYSINSLOT', this.slot));
  }

  /** Moves what is left and tells everybody. */
  async finish(): Promise<void> {
    while ((await this.moveKeys(100)) > 0);
    const id = await idOf(this.to);
    // The new owner first, then the old one: nobody is ever told to ask somebody who does not know of it.
    for (const node of [this.to, this.from, ...this.all]) {
      await node.command('CLUSTER', 'SETSLOT', this.slot, 'NODE', id).catch(() => {});
    }
  }
}

export function slotOf(key: string): number {
  return new Command('get', [key]).getSlot();
}

async function replicate(replica: OwnRedis, primary: OwnRedis | undefined): Promise<void> {
  if (!primary) return;
  const id = await idOf(primary);
  // It may not have heard of its primary yet.
  await eventually(() => replica.command('CLUSTER', 'REPLICATE', id), { what: 'replicating' });
  await eventually(
    async () => String(await replica.command('INFO', 'replication')).includes('link_status:up'),
    { timeoutMs: 20_000, what: 'a copy' },
  );
}

async function idOf(node: OwnRedis): Promise<string> {
  return String(await node.command('CLUSTER', 'MYID'));
}

async function startNode(args: readonly string[]): Promise<OwnRedis> {
  const timeout = String(NODE_TIMEOUT_MS);
  const own = [
    ...['--cluster-enabled', 'yes', '--cluster-node-timeout', timeout, '--save', ''],
    ...['--repl-diskless-sync-delay', '0', ...args],
  ];
  for (let attempt = 1; ; attempt++) {
    const port = await freeClusterPort();
    try {
      return await OwnRedis.start(own, port);
    } catch (error) {
      if (attempt === 3) throw error;
    }
  }
}

export async function freeClusterPort(): Promise<number> {
  for (;;) {
    const port = FIRST_PORT + Math.floor(Math.random() * (LAST_PORT - FIRST_PORT));
    if ((await isFree(port)) && (await isFree(port + BUS_OFFSET))) return port;
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer().once('error', () => resolve(false));
    probe.listen(port, '127.0.0.1', () => probe.close(() => resolve(true)));
  });
}
