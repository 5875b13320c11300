/** A process's side of the external store. */
import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { RowWrite } from './row-store.js';

export class RowClient {
  private readonly socket: Socket;
  /** In the order of the writes; so come the answers. */
  private readonly waiting: ((accepted: boolean) => void)[] = [];

  constructor(path: string) {
    this.socket = connect(path);
    const lines = createInterface({ input: this.socket }).on('error', () => {});
    lines.on('line', (line) => this.waiting.shift()?.(line === 'accepted'));
    this.socket.on('error', () => {});
  }

  /** False when the row has seen a higher token. */
  write(write: RowWrite): Promise<boolean> {
    return new Promise((resolve) => {
      this.waiting.push(resolve);
      this.socket.write(`${JSON.stringify(write)}\n`);
    });
  }

  close(): void {
    this.socket.destroy();
  }
}
