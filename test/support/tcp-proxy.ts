/**
 * Stands in front of Redis and breaks what a network breaks: it loses a reply (the server has done what it was
 * asked, the client never hears), lets connections hang half-open, or takes the server away.
 */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Gate } from './gate.js';

/** Looks at the bytes of one chunk, as text. */
type Matcher = (text: string) => boolean;

export class TcpProxy {
  private readonly sockets = new Set<Socket>();
  private readonly frozen = new Set<Socket>();
  private isCut = false;
  private request: { readonly matches: Matcher; readonly lost: Gate } | undefined;
  private reply: { readonly matches: Matcher; readonly lost: Gate } | undefined;

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {
    server.on('connection', (client) => this.pass(client));
  }

  static async start(targetUrl: string): Promise<TcpProxy> {
    const server = createServer();
    const proxy = new TcpProxy(server, new URL(targetUrl));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  /** The target, through the proxy. */
  get url(): string {
    const url = new URL(this.target);
    url.hostname = '127.0.0.1';
    url.port = String((this.server.address() as AddressInfo).port);
    return url.href;
  }

  /** The next request that matches is carried out, its reply is lost and the connection breaks. Resolves then. */
  loseReplyTo(matches: Matcher): Promise<void> {
    this.request = { matches, lost: new Gate() };
    return this.request.lost.passed();
  }

  /** The next reply that matches is lost and the connection breaks. Resolves then. */
  loseReply(matches: Matcher): Promise<void> {
    this.reply = { matches, lost: new Gate() };
    return this.reply.lost.passed();
  }

  /** From now on nothing gets through on the connections that exist, which stay open; new ones work. */
  freeze(): void {
    for (const socket of this.sockets) this.frozen.add(socket);
  }

  /** Breaks all connections; new ones are closed at once, until `mend`. */
  cut(): void {
    this.isCut = true;
    for (const socket of this.sockets) socket.destroy();
  }

  mend(): void {
    this.isCut = false;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private pass(client: Socket): void {
    if (this.isCut) {
      client.destroy();
      return;
    }
    const upstream = connect(Number(this.target.port || 6379), this.target.hostname);
    let isDoomed = false;
    client.on('data', (chunk) => {
      const { request } = this;
      if (isDoomed || this.frozen.has(client)) return;
      if (!request?.matches(chunk.toString('latin1'))) {
        upstream.write(chunk);
        return;
      }
      this.request = undefined;
      isDoomed = true;
      // The server sees the end of the stream behind the request, so it closes when it has carried it out.
      upstream.end(chunk);
      upstream.once('close', () => request.lost.open());
    });
    upstream.on('data', (chunk) => {
      const { reply } = this;
      if (isDoomed || this.frozen.has(upstream)) return;
      if (!reply?.matches(chunk.toString('latin1'))) {
        client.write(chunk);
        return;
      }
      this.reply = undefined;
      isDoomed = true;
      client.destroy();
      reply.lost.open();
    });
    this.join(client, upstream);
    this.join(upstream, client);
  }

  /** When one end breaks, so does the other. */
  private join(socket: Socket, other: Socket): void {
    this.sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => {
      this.sockets.delete(socket);
      if (!this.frozen.has(socket)) other.destroy();
    });
  }
}
