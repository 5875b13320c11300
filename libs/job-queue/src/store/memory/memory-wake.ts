/** Wakes idle workers: one per wake-up, the one that has waited longest. */
import type { WakeListener } from '../job-store.js';

type Woken = 'woken' | 'timeout';
type Waiter = (result: Woken) => void;

export class MemoryWake {
  private readonly waiters = new Set<Waiter>();
  /** A wake-up that found nobody waiting. One is enough: who takes it and finds more work passes it on. */
  private pending = false;

  signal(): void {
    for (const waiter of this.waiters) {
      waiter('woken');
      return;
    }
    this.pending = true;
  }

  listen(): WakeListener {
    const mine = new Set<Waiter>();
    let closed = false;
    return {
      wait: async (timeoutMs) => {
        if (closed) return 'timeout';
        if (this.pending) {
          this.pending = false;
          return 'woken';
        }
        return this.waitAs(mine, timeoutMs);
      },
      close: async () => {
        closed = true;
        for (const waiter of mine) waiter('timeout');
      },
    };
  }

  private waitAs(mine: Set<Waiter>, timeoutMs: number): Promise<Woken> {
    return new Promise((resolve) => {
      const waiter: Waiter = (result) => {
        clearTimeout(timer);
        this.waiters.delete(waiter);
        mine.delete(waiter);
        resolve(result);
      };
      // An idle worker must not keep the process alive.
      const timer = setTimeout(waiter, timeoutMs, 'timeout').unref();
      this.waiters.add(waiter);
      mine.add(waiter);
    });
  }
}
