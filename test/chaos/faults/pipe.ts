/** One direction of a proxied connection. */
import type { Socket } from 'node:net';

export type Direction = 'toServer' | 'toClient';

export class Pipe {
  private held: Buffer[] | undefined;
  private swallows = false;
  /** Those that are under way, so that none overtakes another. */
  private inFlight: Promise<void> = Promise.resolve();

  /** @param intercept answers true when it has dealt with the chunk itself */
  constructor(
    from: Socket,
    private readonly to: Socket,
    public latencyMs: number,
    private readonly intercept: (chunk: Buffer) => boolean,
  ) {
    from.on('data', (chunk: Buffer) => this.take(chunk));
  }

  get isSwallowing(): boolean {
    return this.swallows;
  }

  /** Keeps what comes until it is released. */
  hold(): void {
    this.held ??= [];
  }

  /** Drops what comes, for ever. */
  swallow(): void {
    this.swallows = true;
    this.held = undefined;
  }

  release(): void {
    const held = this.held ?? [];
    this.held = undefined;
    for (const chunk of held) this.pass(chunk);
  }

  private take(chunk: Buffer): void {
    if (this.swallows || this.intercept(chunk)) return;
    if (this.held) this.held.push(chunk);
    else this.pass(chunk);
  }

  private pass(chunk: Buffer): void {
    if (this.latencyMs === 0) {
      void this.inFlight.then(() => this.write(chunk));
      return;
    }
    const arrival = new Promise<void>((resolve) => setTimeout(resolve, this.latencyMs));
    this.inFlight = this.inFlight.then(() => arrival).then(() => this.write(chunk));
  }

  private write(chunk: Buffer): void {
    if (!this.swallows && !this.to.destroyed) this.to.write(chunk);
  }
}
