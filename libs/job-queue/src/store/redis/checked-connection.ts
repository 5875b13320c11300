/** A connection whose first call waits until a check has passed that could not be made earlier. */
import type { Redis } from 'ioredis';
import type { StoreConnection } from './store-connection.js';

export class CheckedConnection implements StoreConnection {
  private passed = false;
  private checking: Promise<void> | undefined;

  constructor(
    private readonly inner: StoreConnection,
    private readonly check: () => Promise<void>,
  ) {}

  get address(): string {
    return this.inner.address;
  }

  open(): Promise<void> {
    return this.inner.open();
  }

  deadline(): number {
    return this.inner.deadline();
  }

  /** @throws what the check throws; the next call then makes it again. */
  async call<T>(
    key: string,
    send: (client: Redis) => Promise<T>,
    deadline = this.inner.deadline(),
  ): Promise<T> {
    if (!this.passed) {
      this.checking ??= this.check().finally(() => (this.checking = undefined));
      await this.checking;
      this.passed = true;
    }
    return this.inner.call(key, send, deadline);
  }

  createBlockingClient(key: string): Redis | undefined {
    return this.inner.createBlockingClient(key);
  }

  connectToEach(use: (client: Redis) => void): () => void {
    return this.inner.connectToEach(use);
  }

  close(): Promise<void> {
    return this.inner.close();
  }
}
