/** The connection to one Redis server: fails fast, never sends a command twice, and says whether a failed one may have run. */
import { setMaxListeners } from 'node:events';
import { Redis, type RedisOptions } from 'ioredis';
import { IncompatibleStoreError, StoreUnavailableError } from '../../errors/errors.js';
import { nextDelayMs, type Backoff } from '../../job/backoff.js';
import { INTERNAL } from '../../options/defaults.js';
import type { ResolvedClient } from '../../options/resolve-connection.js';
import {
  explainForbidden,
  explainNoConnection,
  isForbidden,
  surviveErrors,
  withoutArguments,
} from './redis-errors.js';
import { judgeServer } from './server-check.js';
import type { StoreConnection } from './store-connection.js';

export type RedisConnectionOptions = ResolvedClient;

export interface ConnectionSettings {
  readonly commandTimeoutMs: number;
  readonly reconnect: Backoff;
  /** The server is reached as one of a cluster; else being one is worth a warning. */
  readonly inCluster?: boolean;
  /** Hears what a person should know: Redis unreachable, too old, or configured so that jobs are in danger. */
  readonly warn: (message: string) => void;
}

/** A call that failed because of the connection or the server's state, not because of what was asked. */
export class RedisCallError extends StoreUnavailableError {
  constructor(
    reason: string,
    /** The command may have been executed all the same. */
    readonly mayHaveRun: boolean,
    options?: ErrorOptions,
  ) {
    super(reason, options);
  }
}

// The server is up but cannot serve this now: failing over, loading, moving a slot, full, not persisting.
const PASSING_REPLY =
  /^(READONLY|LOADING|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|BUSY|OOM|MISCONF|NOREPLICAS|UNBLOCKED|MOVED|ASK)\b/;
/** How long closing waits for the other end; ioredis's 2 s would hold up the exit of a process whose Redis is down. */
export const DISCONNECT_TIMEOUT_MS = 200;

export class RedisConnection implements StoreConnection {
  private readonly client: Redis;
  /** Set once the server turned out to be unusable; every call then fails with it. */
  private incompatible: IncompatibleStoreError | undefined;
  private checking: Promise<void> | undefined;
  private closed = false;
  /** Ends the waiting of calls when this is closed: ioredis does not tell if it was about to reconnect. */
  private readonly closing = new AbortController();
  /** Numbers the connections, so that a call gives up the one it was sent on and no later one. */
  private connectionNumber = 0;
  private givenUp: number | undefined;
  private warned = false;
  /** The last one heard of a connection that is not ready. */
  private lastError: unknown;

  constructor(
    private readonly options: RedisConnectionOptions,
    private readonly settings: ConnectionSettings,
  ) {
    this.client = this.createClient({
      socketTimeout: settings.commandTimeoutMs,
      // A primary that was away comes back without knowing that it was replaced, and goes on accepting jobs for
      // ten seconds, all of which are lost (30,000 measured). So hear from the Sentinels when they replace it.
      failoverDetector: true,
    });
    // Hundreds of calls may wait for a lost connection, and each listens for it.
    this.client.setMaxListeners(0);
    setMaxListeners(0, this.closing.signal);
    this.client.on('error', (error: unknown) => void (this.lastError = withoutArguments(error)));
    let connectedAt = 0;
    this.client.on('connect', () => (connectedAt = performance.now()));
    this.client.on('ready', () => {
      this.lastError = undefined;
      this.connectionNumber += 1;
      this.check();
      // While this primary hung, the Sentinels may have replaced it: ask them again.
      const { sentinels } = this.client.options;
      if (sentinels?.length && performance.now() > connectedAt + INTERNAL.sentinelStaleMs) {
        this.client.disconnect(true);
      }
    });
  }

  get address(): string {
    const { host, port, sentinels, path } = this.client.options;
    if (sentinels?.length)
      return `the master "${this.client.options.name ?? ''}" of ${sentinels.length} sentinels`;
    return path ?? `${host ?? 'localhost'}:${port ?? 6379}`;
  }

  /** A command could be written at once. */
  get isReady(): boolean {
    return this.canWrite && this.checking === undefined;
  }

  async open(): Promise<void> {
    await this.call('', (client) => client.ping());
  }

  deadline(): number {
    return performance.now() + this.settings.commandTimeoutMs;
  }

  async call<T>(_key: string, send: (client: Redis) => Promise<T>, deadline = this.deadline()): Promise<T> {
    if (!this.canWrite) await this.waitUntilReady(deadline);
    if (this.checking) await this.waitUntilChecked(this.checking, deadline);
    if (this.incompatible) throw this.incompatible;
    let timer: NodeJS.Timeout | undefined;
    const usedConnection = this.connectionNumber;
    const timeout = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new RedisCallError(`${this.address} did not answer in time`, true));
        this.giveUp(usedConnection);
      }, deadline - performance.now());
    });
    try {
      return await Promise.race([send(this.client), timeout]);
    } catch (error) {
      throw this.explain(error);
    } finally {
      clearTimeout(timer);
    }
  }

  createBlockingClient(): Redis {
    return this.createClient({});
  }

  connectToEach(use: (client: Redis) => void): () => void {
    const client = this.createClient({});
    use(client);
    return () => client.disconnect();
  }

  async close(): Promise<void> {
    // Disconnecting a second time would leave ioredis waiting two seconds for a 'close' that came already.
    if (this.closed) return;
    this.closed = true;
    this.client.disconnect();
    this.closing.abort();
  }

  /** A half-open connection would hang for minutes; the next call gets a new one. */
  private giveUp(connectionNumber: number): void {
    // Calls that were sent together time out together. Only the first one may disconnect, or the others would
    // take down the connection that came after.
    if (connectionNumber !== this.connectionNumber || connectionNumber === this.givenUp) return;
    this.givenUp = connectionNumber;
    this.client.disconnect(true);
  }

  private createClient(extra: Pick<RedisOptions, 'socketTimeout' | 'failoverDetector'>): Redis {
    let isLeaving = false;
    const ours = {
      ...extra,
      // ioredis would send unanswered commands again after a reconnect: one INCR ran twice (measured).
      autoResendUnfulfilledCommands: false,
      // A queued command runs later even if its caller has long given up; and without this 0 an
      // unanswered command is never rejected when re-sending is off.
      enableOfflineQueue: false,
      // ioredis would subscribe again by itself and not catch a failure: a connection that breaks just then would end
      // the process. Subscriptions are renewed by those who made them.
      autoResubscribe: false,
      maxRetriesPerRequest: 0,
      lazyConnect: false,
      // The bindings read replies in this shape, whatever the user's own client is set to.
      replyMapping: 'legacy',
      connectTimeout: this.settings.commandTimeoutMs,
      disconnectTimeout: DISCONNECT_TIMEOUT_MS,
      retryStrategy: (times: number) => nextDelayMs(this.settings.reconnect, times) + 10,
      // After a failover this socket may still lead to the old primary. Once per connection: every command in flight
      // is answered so, and each would make ioredis disconnect again.
      reconnectOnError: (error: Error) => {
        if (isLeaving || !error.message.startsWith('READONLY')) return false;
        isLeaving = true;
        return true;
      },
    } satisfies RedisOptions;
    const client =
      'client' in this.options
        ? this.options.client.duplicate(ours)
        : 'url' in this.options
          ? new Redis(this.options.url, ours)
          : new Redis({ ...this.options.redis, ...ours });
    client.on('close', () => (isLeaving = false));
    surviveErrors(client);
    // Every call of an outage waits for the connection with listeners of its own; Node would suspect a leak.
    client.setMaxListeners(0);
    return client;
  }

  /** A connection that is being given up is still called ready until it has closed. */
  private get canWrite(): boolean {
    return this.client.status === 'ready' && this.client.stream.writable;
  }

  private waitUntilReady(deadline: number): Promise<void> {
    if (this.closed) throw new RedisCallError('the connection is closed', false);
    return new Promise((resolve, reject) => {
      const settle = (finish: () => void): void => {
        clearTimeout(timer);
        this.client.off('ready', onReady).off('end', onEnd);
        this.closing.signal.removeEventListener('abort', onEnd);
        finish();
      };
      const fail = (reason: string): void => {
        const cause = this.lastError ? { cause: this.lastError } : undefined;
        settle(() => reject(new RedisCallError(reason, false, cause)));
      };
      const onReady = (): void => settle(resolve);
      const onEnd = (): void => fail('the connection is closed');
      const timer = setTimeout(
        () => fail(explainNoConnection(this.address, this.lastError, this.client.options.tls !== undefined)),
        Math.max(0, deadline - performance.now()),
      );
      this.client.on('ready', onReady).on('end', onEnd);
      this.closing.signal.addEventListener('abort', onEnd);
    });
  }

  private async waitUntilChecked(checking: Promise<void>, deadline: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const expired = new Promise<never>((_, reject) => {
      const fail = (): void => reject(new RedisCallError(`${this.address} did not answer in time`, false));
      timer = setTimeout(fail, Math.max(0, deadline - performance.now()));
    });
    await Promise.race([checking, expired]).finally(() => clearTimeout(timer));
  }

  /** On every new connection, which may lead to another server: is it new enough, and set up so that jobs are safe? */
  private check(): void {
    this.checking = this.inspectServer()
      .then((problem) => (this.incompatible = problem))
      // INFO may be forbidden to this user, or the connection broke again: the calls themselves will tell.
      .catch(() => {})
      .then(() => (this.checking = undefined));
  }

  private async inspectServer(): Promise<IncompatibleStoreError | undefined> {
    const { problem, warnings } = judgeServer(await this.client.info(), this.address, this.settings);
    if (!this.warned) for (const warning of warnings) this.settings.warn(warning);
    this.warned = true;
    return problem;
  }

  private explain(error: unknown): unknown {
    if (error instanceof StoreUnavailableError || error instanceof IncompatibleStoreError) return error;
    if (!(error instanceof Error)) return error;
    withoutArguments(error);
    if (error.name === 'ReplyError') {
      if (isForbidden(error.message)) {
        // A script may have done part of its work before it met the command that is forbidden.
        const reason = explainForbidden(this.address, error.message);
        return new RedisCallError(reason, !error.message.startsWith('NOPERM'), { cause: error });
      }
      if (!PASSING_REPLY.test(error.message)) return error;
      return new RedisCallError(`${this.address} answered: ${error.message}`, false, { cause: error });
    }
    // ioredis refuses to write without a connection: then nothing was sent. Everything else broke on the way.
    const unsent = error.message.includes('enableOfflineQueue');
    return new RedisCallError(`the connection to ${this.address} broke (${error.message})`, !unsent, {
      cause: error,
    });
  }
}
