/** Something that runs every so often, driven by a tick per second: never over itself, never throwing into the scheduler. */
import { Logger } from '@nestjs/common';
import { StoreUnavailableError } from '../errors/errors.js';

/** The literal expression of all our `@Cron`s; each service decides by its interval whether a tick is its turn. */
export const EVERY_SECOND = '* * * * * *';
const TICK_MS = 1_000;

export class PeriodicTask {
  private enabled = false;
  private running = false;
  private lastStart = -Infinity;
  private failing = false;
  private readonly logger: Logger;

  constructor(
    private readonly name: string,
    private readonly intervalMs: number,
    private readonly run: () => Promise<void>,
  ) {
    this.logger = new Logger(name);
  }

  /** Ticks before this do nothing: a scheduler may start before the app is ready, or in a process without workers. */
  enable(): void {
    this.enabled = true;
  }

  disable(): void {
    this.enabled = false;
  }

  async tick(): Promise<void> {
    const now = performance.now();
    // Half a tick of tolerance, or a tick that comes a millisecond early would cost a whole one.
    const isDue = now - this.lastStart >= this.intervalMs - TICK_MS / 2;
    if (!this.enabled || this.running || !isDue) return;
    this.running = true;
    this.lastStart = now;
    try {
      await this.run();
      if (this.failing) this.logger.log(`${this.name} works again.`);
      this.failing = false;
    } catch (error) {
      // Once per outage; the next tick tries again. That the store is away is the worker's to say.
      const level = error instanceof StoreUnavailableError ? 'debug' : 'warn';
      if (!this.failing)
        this.logger[level](`${this.name} failed and will be tried again: ${messageOf(error)}`);
      this.failing = true;
    } finally {
      this.running = false;
    }
  }
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
