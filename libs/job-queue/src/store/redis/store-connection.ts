/** What the stores need of Redis, be it one server (connection.ts) or a cluster of them (cluster-connection.ts). */
import type { Redis } from 'ioredis';

export interface StoreConnection {
  /** For people: where this connects to, without credentials. */
  readonly address: string;

  /**
   * Waits until Redis answers and is found usable, at most `commandTimeoutMs`.
   * @throws RedisCallError when it does not answer.
   * @throws IncompatibleStoreError when it can never be used.
   */
  open(): Promise<void>;

  /** When a call that starts now must have been answered, by performance.now(). */
  deadline(): number;

  /**
   * Runs `send` on a ready connection to the server that has `key`, waiting for it included. `send` writes one
   * command before it returns; it is called again only when the server has certainly not run that command.
   * @throws RedisCallError
   */
  call<T>(key: string, send: (client: Redis) => Promise<T>, deadline?: number): Promise<T>;

  /**
   * A client of its own for blocking commands on `key`; the caller closes it with `disconnect()`. When the key moves
   * to another server, the client ends. `undefined`: nobody knows at the moment which server has the key.
   */
  createBlockingClient(key: string): Redis | undefined;

  /**
   * For what is heard only by those who are connected to the server that says it: hands out a client of its own to
   * each server that can run a script, also to those that come later. The answer closes them all.
   */
  connectToEach(use: (client: Redis) => void): () => void;

  close(): Promise<void>;
}
