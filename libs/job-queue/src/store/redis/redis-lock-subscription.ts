/** Hears of granted locks: one connection and one channel per process, however many locks it waits for. */
import type { Redis } from 'ioredis';
import type { LockListener } from '../lock-store.js';

export class RedisLockSubscription {
  /** When it is heard for the first time. Never, if it is closed before. */
  readonly established: Promise<void>;
  private readonly client: Redis;
  private readonly watchdog: NodeJS.Timeout;

  constructor(
    createClient: () => Redis,
    private readonly channel: string,
    private readonly listener: LockListener,
    private readonly pingMs: number,
  ) {
    this.client = createClient();
    this.client.on('message', (_channel: string, owner: string) => listener.granted(owner));
    this.established = new Promise((resolve) => {
      // Also on every later connection: what was published in between is lost.
      this.client.on('ready', () => void this.listen(resolve));
    });
    this.watchdog = setInterval(() => void this.ping(), pingMs).unref();
  }

  close(): void {
    clearInterval(this.watchdog);
    this.client.disconnect();
  }

  private async listen(established: () => void): Promise<void> {
    try {
      await this.client.subscribe(this.channel);
      established();
      this.listener.resumed();
    } catch {
      // The connection broke again, or the server refuses for now: waiters ask again by themselves meanwhile.
      if (this.client.status === 'ready') this.client.disconnect(true);
    }
  }

  /** Nothing is ever sent on a subscription, so a half-open one would be noticed by nobody. */
  private async ping(): Promise<void> {
    if (this.client.status !== 'ready') return;
    const timer = setTimeout(() => this.client.disconnect(true), this.pingMs).unref();
    try {
      await this.client.ping();
    } catch {
      // Broken; it reconnects by itself.
    } finally {
      clearTimeout(timer);
    }
  }
}
