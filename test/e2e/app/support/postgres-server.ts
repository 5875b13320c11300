/** A Postgres server for a test: PGlite behind a port, so that several apps can share it and `pg` can talk to it. */
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { PGlite } from '@electric-sql/pglite';

/** Messages after which a client waits for an answer: Sync, Query, and the one that opens a session. */
const AWAITS_ANSWER = new Set(['S', 'Q', 'startup']);
const TERMINATE = 'X';

export class PostgresServer {
  private readonly sockets = new Set<Socket>();
  /** PGlite has one session: whole requests take turns in it. */
  private turn: Promise<void> = Promise.resolve();

  private constructor(
    private readonly database: PGlite,
    private readonly server: Server,
  ) {
    server.on('connection', (socket) => this.serve(socket));
  }

  static async start(): Promise<PostgresServer> {
    const started = new PostgresServer(await PGlite.create(), createServer());
    started.server.listen(0, '127.0.0.1').unref();
    await once(started.server, 'listening');
    return started;
  }

  get url(): string {
    return `postgresql://postgres@127.0.0.1:${(this.server.address() as AddressInfo).port}/postgres`;
  }

  async query(statement: string): Promise<readonly Record<string, unknown>[]> {
    const { rows } = await this.database.query<Record<string, unknown>>(statement);
    return rows;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
    await this.turn;
    await this.database.close();
  }

  private serve(socket: Socket): void {
    const requests = new RequestReader();
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('data', (chunk) => {
      const { request, isOver } = requests.read(chunk);
      if (isOver) socket.end();
      else if (request) this.turn = this.turn.then(() => this.answer(socket, request));
    });
  }

  private async answer(socket: Socket, request: Buffer): Promise<void> {
    try {
      socket.write(await this.database.execProtocolRaw(request));
    } catch {
      socket.destroy();
    }
  }
}

/** Cuts what a client sends into requests that await an answer. */
class RequestReader {
  private pending = Buffer.alloc(0);
  private isOpen = false;

  read(chunk: Buffer | string): { readonly request?: Buffer; readonly isOver: boolean } {
    this.pending = Buffer.concat([this.pending, Buffer.from(chunk)]);
    let [at, complete] = [0, 0];
    for (;;) {
      // Only the first message of a session has no type in front of its length.
      const head = this.isOpen ? 1 : 0;
      if (this.pending.length < at + head + 4) break;
      const end = at + head + this.pending.readInt32BE(at + head);
      if (this.pending.length < end) break;
      const type = this.isOpen ? this.pending.toString('latin1', at, at + 1) : 'startup';
      if (type === TERMINATE) return { isOver: true };
      this.isOpen = true;
      at = end;
      if (AWAITS_ANSWER.has(type)) complete = end;
    }
    const request = this.pending.subarray(0, complete);
    this.pending = this.pending.subarray(complete);
    return { isOver: false, ...(complete > 0 && { request }) };
  }
}
