/** A wait that can be cut short: woken, or ended with a reason. */

export class Pause {
  private readonly ended: Promise<never>;
  private reject: (reason: unknown) => void = () => {};
  private resume: (() => void) | undefined;
  private woken = false;
  private readonly onAbort = (): void => this.end(this.signal?.reason);

  /** @param signal ends it with the signal's reason */
  constructor(private readonly signal?: AbortSignal) {
    this.ended = new Promise((_, reject) => (this.reject = reject));
    // Whoever races against it hears of it; when nobody does, it is not an unhandled rejection.
    this.ended.catch(() => {});
    signal?.addEventListener('abort', this.onAbort);
  }

  /** Cuts the current wait short, or the next one if none is under way. */
  wake(): void {
    this.woken = true;
    this.resume?.();
  }

  end(reason: unknown): void {
    this.reject(reason);
  }

  /** No wait may be under way. */
  dispose(): void {
    this.signal?.removeEventListener('abort', this.onAbort);
  }

  /** @throws the reason when it was ended */
  async wait(ms: number): Promise<void> {
    const woken = new Promise<void>((resolve) => (this.resume = resolve));
    if (!this.woken) await this.race(woken, ms);
    this.woken = false;
    this.resume = undefined;
  }

  /**
   * Answers what the promise answers, or `undefined` after `ms`.
   * @throws the reason when it was ended, or what the promise throws
   */
  async race<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
    let timer: NodeJS.Timeout | undefined;
    const timeout = new Promise<undefined>((resolve) => {
      timer = setTimeout(() => resolve(undefined), Math.ceil(ms));
    });
    try {
      return await Promise.race([promise, timeout, this.ended]);
    } finally {
      clearTimeout(timer);
    }
  }
}
