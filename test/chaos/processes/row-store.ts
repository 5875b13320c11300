/**
 * The external store of a chaos run: rows that refuse a write whose token is lower than the one they have seen.
 * It lives in the process of the test and answers over a socket, so that the compare is made in one place.
 */
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { createInterface } from 'node:readline';
import type { HistoryWriter } from '../history/history-writer.js';

export interface RowWrite {
  readonly row: string;
  readonly token: number;
}

export class RowStore {
  private readonly fences = new Map<string, number>();
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly history: HistoryWriter,
  ) {
    server.on('connection', (socket) => this.serve(socket));
  }

  static async start(path: string, history: HistoryWriter): Promise<RowStore> {
    const server = createServer();
    const store = new RowStore(server, history);
    server.listen(path);
    await once(server, 'listening');
    return store;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => this.sockets.delete(socket));
    // It passes on the errors of its input.
    const lines = createInterface({ input: socket }).on('error', () => {});
    lines.on('line', (line) => {
      socket.write(`${this.write(JSON.parse(line) as RowWrite) ? 'accepted' : 'refused'}\n`);
    });
  }

  private write({ row, token }: RowWrite): boolean {
    const accepted = (this.fences.get(row) ?? 0) <= token;
    if (accepted) this.fences.set(row, token);
    this.history.record({ kind: 'row_written', row, token, accepted });
    return accepted;
  }
}
