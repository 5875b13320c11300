/** Waits for a wake-up of any partition, with a listener at each. */
import type { JobStore, WakeListener } from './job-store.js';

type Woken = 'woken' | 'timeout';

interface Wait {
  readonly endsAt: number;
  readonly end: (result: Woken) => void;
}

export class PartitionWakeListener implements WakeListener {
  private readonly listeners: readonly WakeListener[];
  private readonly listening = new Set<WakeListener>();
  private current: Wait | undefined;
  private closed = false;

  constructor(
    private readonly partitions: readonly JobStore[],
    private readonly onWoken: (partition: number) => void,
  ) {
    this.listeners = partitions.map((store) => store.listenForWork());
  }

  async wait(timeoutMs: number): Promise<Woken> {
    if (this.closed) return 'timeout';
    return new Promise((resolve) => {
      this.current = {
        endsAt: performance.now() + timeoutMs,
        end: (result) => {
          this.current = undefined;
          resolve(result);
        },
      };
      for (const [partition, listener] of this.listeners.entries()) void this.listenAt(partition, listener);
    });
  }

  async close(): Promise<void> {
    this.closed = true;
    this.current?.end('timeout');
    await Promise.all(this.listeners.map((listener) => listener.close()));
  }

  /**
   * Goes on for as long as somebody waits; what comes after that was meant for another worker. The wait is over when
   * the last listener has let its time pass, which may take longer while it connects.
   */
  private async listenAt(partition: number, listener: WakeListener): Promise<void> {
    if (this.listening.has(listener)) return;
    this.listening.add(listener);
    while (this.current && !this.closed) {
      const leftMs = this.current.endsAt - performance.now();
      if (leftMs <= 0) break;
      if ((await listener.wait(leftMs)) === 'timeout') continue;
      if (this.current) {
        this.onWoken(partition);
        this.current.end('woken');
      } else {
        this.partitions[partition]?.wake().catch(() => {});
      }
    }
    this.listening.delete(listener);
    if (this.listening.size === 0) this.current?.end('timeout');
  }
}
