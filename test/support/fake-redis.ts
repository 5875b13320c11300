/** A server that speaks just enough of Redis's protocol to be connected to, and claims to be whatever a test needs. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface FakeRedisBehaviour {
  /** What INFO says in `redis_version`. */
  readonly version: string;
  /** Commands that get no answer; told the name and how many of that name came on this connection, from 1. */
  readonly ignores?: (name: string, count: number) => boolean;
  /** How long HELLO, the first command of a connection, waits for its answer. */
  readonly helloMs?: number;
}

export class FakeRedis {
  /** Names of the commands received, in order. */
  readonly received: string[] = [];
  private readonly sockets = new Set<Socket>();

  private constructor(
    private readonly server: Server,
    private readonly behaviour: FakeRedisBehaviour,
  ) {
    server.on('connection', (socket) => this.serve(socket));
  }

  /** On a free port unless one is given. */
  static async start(behaviour: FakeRedisBehaviour, port = 0): Promise<FakeRedis> {
    const fake = new FakeRedis(createServer(), behaviour);
    fake.server.listen(port, '127.0.0.1');
    await once(fake.server, 'listening');
    return fake;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy()).on('close', () => this.sockets.delete(socket));
    const counts = new Map<string, number>();
    let buffer = '';
    socket.setEncoding('latin1').on('data', (chunk: string) => {
      const { commands, rest } = parse(buffer + chunk);
      buffer = rest;
      for (const name of commands) {
        this.received.push(name);
        const count = (counts.get(name) ?? 0) + 1;
        counts.set(name, count);
        if (this.behaviour.ignores?.(name, count)) continue;
        const { helloMs } = this.behaviour;
        if (name !== 'HELLO' || helloMs === undefined) socket.write(this.answer(name));
        else setTimeout(() => socket.write(this.answer(name)), helloMs);
      }
    });
  }

  private answer(name: string): string {
    if (name === 'HELLO') return "-ERR unknown command 'HELLO'\r\n";
    if (name === 'PING') return '+PONG\r\n';
    if (name !== 'INFO') return '+OK\r\n';
    const info = `# Server\r\nredis_version:${this.behaviour.version}\r\nloading:0\r\n`;
    return `$${info.length}\r\n${info}\r\n`;
  }
}

/** Names of the complete commands, and what is left of an incomplete one. */
function parse(text: string): { commands: string[]; rest: string } {
  const commands: string[] = [];
  let rest = text;
  for (;;) {
    const head = /^\*(\d+)\r\n/.exec(rest);
    if (!head) return { commands, rest };
    let at = head[0].length;
    const args: string[] = [];
    while (args.length < Number(head[1])) {
      const length = /^\$(\d+)\r\n/.exec(rest.slice(at));
      const end = length ? at + length[0].length + Number(length[1]) : Infinity;
      if (!length || end + 2 > rest.length) return { commands, rest };
      args.push(rest.slice(at + length[0].length, end));
      at = end + 2;
    }
    commands.push((args[0] ?? '').toUpperCase());
    rest = rest.slice(at);
  }
}
