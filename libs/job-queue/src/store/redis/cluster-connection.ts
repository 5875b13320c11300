/**
 * The connection to a Redis Cluster: knows which server has a key and follows keys that move. All else, such as
 * failing fast and never sending twice, is done by one `RedisConnection` per server.
 *
 * ioredis's own Cluster only tells who has which slot. It carries no command of ours: after a lost connection it
 * sends a command again that may have run (`retryDelayOnFailover`), and it queues what its caller has given up.
 */
import { Cluster, Command, type ClusterOptions, type Redis } from 'ioredis';
import { nextDelayMs } from '../../job/backoff.js';
import { INTERNAL } from '../../options/defaults.js';
import type { ResolvedCluster } from '../../options/resolve-connection.js';
import {
  DISCONNECT_TIMEOUT_MS,
  RedisCallError,
  RedisConnection,
  type ConnectionSettings,
} from './connection.js';
import { FollowingClients } from './following-clients.js';
import { withoutArguments } from './redis-errors.js';
import type { StoreConnection } from './store-connection.js';

interface Server {
  readonly connection: RedisConnection;
  usedAt: number;
}

const { clusterRecheckMs, clusterPauseMs, clusterRefreshMs, clusterRefreshIntervalMs } = INTERNAL;

export class ClusterConnection implements StoreConnection {
  private readonly topology: Cluster;
  private readonly servers = new Map<string, Server>();
  private readonly clients: FollowingClients;
  private readonly refresher: NodeJS.Timeout;
  private askedAt = -Infinity;
  private lastError: unknown;
  private closed = false;

  constructor(
    options: ResolvedCluster,
    private readonly settings: ConnectionSettings,
  ) {
    this.topology = openTopology(options, settings);
    this.topology.on('node error', (error: unknown) => void (this.lastError = withoutArguments(error)));
    // Only says that every node had an error. Calls report their own.
    this.topology.on('error', () => {});
    this.topology.on('refresh', () => this.follow());
    this.refresher = setInterval(() => this.learnAgain(), clusterRefreshIntervalMs).unref();
    this.clients = new FollowingClients(
      (address) => this.server(address).connection,
      () => this.learnAgain(),
    );
  }

  get address(): string {
    const known = this.primaries();
    return known.length > 0 ? `the cluster of ${known.join(', ')}` : 'the cluster';
  }

  async open(): Promise<void> {
    const deadline = this.deadline();
    await this.serverOf(0, deadline);
    await Promise.all(this.primaries().map((address) => this.server(address).connection.open()));
  }

  deadline(): number {
    return performance.now() + this.settings.commandTimeoutMs;
  }

  async call<T>(key: string, send: (client: Redis) => Promise<T>, deadline = this.deadline()): Promise<T> {
    const slot = slotOf(key);
    let asked: string | undefined;
    for (;;) {
      const server = asked === undefined ? await this.serverOf(slot, deadline) : this.server(asked);
      const sendThere = asked === undefined ? send : afterAsking(send);
      asked = undefined;
      try {
        return await server.connection.call(key, sendThere, deadline);
      } catch (error) {
        if (error instanceof RedisCallError) this.learnAgain();
        const again = anotherTry(error);
        if (!again || this.closed || performance.now() + clusterPauseMs >= deadline) throw error;
        if (again.askedAt !== undefined) asked = this.reachable(again.askedAt);
        else await sleep(clusterPauseMs);
      }
    }
  }

  createBlockingClient(key: string): Redis | undefined {
    const slot = slotOf(key);
    return this.clients.create(() => this.topology.slots[slot]?.[0]);
  }

  connectToEach(use: (client: Redis) => void): () => void {
    return this.clients.createForEach(() => this.primaries(), use);
  }

  async close(): Promise<void> {
    this.closed = true;
    clearInterval(this.refresher);
    this.clients.close();
    this.topology.disconnect();
    await Promise.all([...this.servers.values()].map(({ connection }) => connection.close()));
  }

  /** The server that has the slot, ready for a command. While it is not, another one may take its place. */
  private async serverOf(slot: number, deadline: number): Promise<Server> {
    const startedAt = performance.now();
    for (;;) {
      const address = this.topology.slots[slot]?.[0];
      const server = address === undefined ? undefined : this.server(address);
      if (server?.connection.isReady) return server;
      if (this.closed) throw new RedisCallError('the connection is closed', false);
      if (performance.now() >= deadline) throw this.unreachable(address);
      if (performance.now() > startedAt + clusterRefreshMs) this.learnAgain();
      await sleep(clusterRecheckMs);
    }
  }

  private server(address: string): Server {
    let server = this.servers.get(address);
    if (!server) {
      const [host, port] = splitAddress(address);
      // What the topology's own clients use to connect, such as password and TLS.
      const redis = { ...this.topology.nodes()[0]?.options, host, port, db: 0, readOnly: false };
      server = {
        connection: new RedisConnection({ redis }, { ...this.settings, inCluster: true }),
        usedAt: 0,
      };
      this.servers.set(address, server);
    }
    server.usedAt = performance.now();
    return server;
  }

  private primaries(): string[] {
    return [...new Set(this.topology.slots.map((addresses) => addresses?.[0]))].filter(
      (address) => address !== undefined,
    );
  }

  /** Asks the cluster anew who has what; `follow` hears the answer. */
  private learnAgain(): void {
    const now = performance.now();
    if (this.closed || this.topology.status !== 'ready' || now < this.askedAt + clusterRefreshMs) return;
    this.askedAt = now;
    this.topology.refreshSlotsCache((error) => {
      // None of the known servers answers: start over with the addresses that were configured, which may lead elsewhere.
      if (error && this.topology.status === 'ready') this.topology.disconnect(true);
    });
  }

  private follow(): void {
    if (this.closed) return;
    const primaries = new Set(this.primaries());
    for (const address of primaries) this.server(address);
    const longAgo = performance.now() - 2 * this.settings.commandTimeoutMs;
    for (const [address, { connection, usedAt }] of this.servers) {
      // One that has no slot yet may be asked while it gets its first; so only those that nobody uses any more.
      if (primaries.has(address) || usedAt > longAgo) continue;
      this.servers.delete(address);
      void connection.close();
    }
    this.clients.follow();
  }

  /** As seen from here: behind a NAT servers know each other by other addresses. */
  private reachable(address: string): string {
    const { natMap } = this.topology.options;
    const mapped = typeof natMap === 'function' ? natMap(address) : natMap?.[address];
    return mapped ? `${mapped.host}:${mapped.port}` : address;
  }

  private unreachable(address: string | undefined): RedisCallError {
    if (address !== undefined) {
      const reason = `${address}, which has these keys, cannot be reached, and no other node has taken its place yet`;
      return new RedisCallError(reason, false);
    }
    const cause = this.lastError instanceof Error ? this.lastError : undefined;
    const said = cause ? ` (${cause.message})` : '';
    return new RedisCallError(
      `no node of the cluster tells who has which keys${said}. Are the addresses right, and is it a Redis Cluster?`,
      false,
      cause && { cause },
    );
  }
}

function openTopology(options: ResolvedCluster, settings: ConnectionSettings): Cluster {
  const given: Partial<ClusterOptions> =
    'client' in options ? options.client.options : { redisOptions: options.redis };
  const ours = {
    lazyConnect: false,
    // Would only open connections that are not used.
    enableReadyCheck: false,
    shardedSubscribers: false,
    enableOfflineQueue: false,
    // It is asked by a timer of ours: ioredis starts its own once more when it is closed during an answer.
    slotsRefreshInterval: 0,
    clusterRetryStrategy: (times: number) => nextDelayMs(settings.reconnect, times) + 10,
    redisOptions: {
      ...given.redisOptions,
      replyMapping: 'legacy',
      connectTimeout: settings.commandTimeoutMs,
      disconnectTimeout: DISCONNECT_TIMEOUT_MS,
    },
  } satisfies ClusterOptions;
  return 'client' in options
    ? options.client.duplicate([], ours)
    : new Cluster([...options.cluster], { ...given, ...ours });
}

/**
 * Whether the same command may be sent once more: it was not written at all, or the server answered that it is not for
 * it or not now. A lost reply is neither. `askedAt`: the server that shall be asked, this one time.
 */
function anotherTry(error: unknown): { readonly askedAt: string | undefined } | undefined {
  if (!(error instanceof RedisCallError) || error.mayHaveRun) return undefined;
  if (!(error.cause instanceof Error) || error.cause.name !== 'ReplyError') return { askedAt: undefined };
  const reply = /^(?:ASK \d+ (\S+)|MOVED|TRYAGAIN|CLUSTERDOWN)/.exec(error.cause.message);
  return reply ? { askedAt: reply[1] } : undefined;
}

/** ASKING holds for the very next command on the connection. */
function afterAsking<T>(send: (client: Redis) => Promise<T>): (client: Redis) => Promise<T> {
  return (client) => {
    client.asking().catch(() => {});
    return send(client);
  };
}

function slotOf(key: string): number {
  return new Command('get', [key]).getSlot();
}

function splitAddress(address: string): [host: string, port: number] {
  const colon = address.lastIndexOf(':');
  return [address.slice(0, colon), Number(address.slice(colon + 1))];
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
