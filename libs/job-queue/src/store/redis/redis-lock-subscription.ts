/**
 * Hears of granted locks: one channel per process, however many locks it waits for, and one connection to each
 * server. `PUBLISH` tells a script how many listeners its own server has, which is how it passes over the waiters of
 * a dead process; so in a cluster a process listens at every server, and may hear of one grant several times.
 */
import type { Redis } from 'ioredis';
import type { LockListener } from '../lock-store.js';

export class RedisLockSubscription {
  /** When it is heard by all servers for the first time. Never, if it is closed before. */
  readonly established: Promise<void>;
  private readonly clients = new Set<Redis>();
  private readonly heardBy = new Set<Redis>();
  private readonly watchdog: NodeJS.Timeout;
  private readonly disconnect: () => void;
  private resolveEstablished: () => void = () => {};

  constructor(
    connectToEach: (use: (client: Redis) => void) => () => void,
    private readonly channel: string,
    private readonly listener: LockListener,
    private readonly pingMs: number,
  ) {
    this.established = new Promise((resolve) => (this.resolveEstablished = resolve));
    this.disconnect = connectToEach((client) => this.use(client));
    this.watchdog = setInterval(() => {
      for (const client of this.clients) void this.ping(client);
    }, pingMs).unref();
  }

  close(): void {
    clearInterval(this.watchdog);
    this.disconnect();
  }

  private use(client: Redis): void {
    this.clients.add(client);
    client.on('message', (_channel: string, owner: string) => this.listener.granted(owner));
    // Also on every later connection: what was published in between is lost.
    client.on('ready', () => void this.listen(client));
    client.on('end', () => {
      this.clients.delete(client);
      this.heardBy.delete(client);
    });
  }

  private async listen(client: Redis): Promise<void> {
    try {
      await client.subscribe(this.channel);
    } catch {
      // The connection broke again, or the server refuses for now: waiters ask again by themselves meanwhile.
      if (client.status === 'ready') client.disconnect(true);
      return;
    }
    this.heardBy.add(client);
    if (this.heardBy.size === this.clients.size) this.resolveEstablished();
    this.listener.resumed();
  }

  /** Nothing is ever sent on a subscription, so a half-open one would be noticed by nobody. */
  private async ping(client: Redis): Promise<void> {
    if (client.status !== 'ready') return;
    const timer = setTimeout(() => client.disconnect(true), this.pingMs).unref();
    try {
      await client.ping();
    } catch {
      // Broken; it reconnects by itself.
    } finally {
      clearTimeout(timer);
    }
  }
}
