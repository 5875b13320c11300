/** Waits for wake-ups on a connection of its own. It blocks on the wake list only, so it can never swallow a job. */
import type { Redis } from 'ioredis';
import type { WakeListener } from '../job-store.js';

/** Pause after a refusal. */
const LET_UP_MS = 500;

export class RedisWakeListener implements WakeListener {
  private client: Redis | undefined;
  private readonly closing = new AbortController();
  private readonly closed: Promise<'timeout'>;

  constructor(
    private readonly createClient: () => Redis | undefined,
    private readonly key: string,
    private readonly graceMs: number,
  ) {
    this.closed = new Promise((resolve) => {
      this.closing.signal.addEventListener('abort', () => resolve('timeout'));
    });
  }

  async wait(timeoutMs: number): Promise<'woken' | 'timeout'> {
    if (this.closing.signal.aborted) return 'timeout';
    // A cluster's client ends when the key has moved to another server.
    if (this.client?.status === 'end') this.client = undefined;
    const client = (this.client ??= this.createClient());
    if (!client) {
      await this.pause(undefined, Math.min(timeoutMs, LET_UP_MS));
      return 'timeout';
    }
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise<'timeout'>((resolve) => {
      timer = setTimeout(() => {
        // No answer long after the server should have given up: the connection is dead. Disconnect first,
        // so that the abandoned call cannot take a wake-up later.
        client.disconnect(true);
        resolve('timeout');
      }, timeoutMs + this.graceMs);
    });
    try {
      return await Promise.race([this.pop(client, timeoutMs), expired, this.closed]);
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.client?.disconnect();
    this.closing.abort();
  }

  /** Never rejects: broken, UNBLOCKED or failing over all mean "nothing heard"; the caller polls anyway. */
  private async pop(client: Redis, timeoutMs: number): Promise<'woken' | 'timeout'> {
    try {
      if (client.status !== 'ready') await this.pause(client, timeoutMs);
      return (await client.blpop(this.key, timeoutMs / 1_000)) ? 'woken' : 'timeout';
    } catch (error) {
      if (error instanceof Error && error.message.startsWith('MOVED')) client.disconnect();
      // Not at once: a server that refuses every call would be asked in a tight loop.
      await this.pause(client, Math.min(timeoutMs, LET_UP_MS));
      return 'timeout';
    }
  }

  /** Until the client is ready (again) or has ended or this is closed, at most `ms`. */
  private pause(client: Redis | undefined, ms: number): Promise<void> {
    const { signal } = this.closing;
    if (signal.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        client?.off('ready', done).off('end', done);
        signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      client?.once('ready', done).once('end', done);
      signal.addEventListener('abort', done);
    });
  }
}
