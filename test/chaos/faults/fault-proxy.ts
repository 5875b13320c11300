/** A TCP proxy in front of Redis that does to the bytes what networks do: late, never, one way only, half, or with a reset. */
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { Gate } from '../../support/gate.js';
import { Pipe, type Direction } from './pipe.js';

export type { Direction } from './pipe.js';

/** Looks at the bytes of one chunk, as text. */
export type Matcher = (text: string) => boolean;

interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  readonly toServer: Pipe;
  readonly toClient: Pipe;
}

interface Ambush {
  readonly matches: Matcher;
  readonly spring: (link: Link, chunk: Buffer) => void;
}

export class FaultProxy {
  private readonly links = new Set<Link>();
  private isRefusing = false;
  private latencyMs = 0;
  private readonly stopped = new Set<Direction>();
  private onRequest: Ambush | undefined;
  private onReply: Ambush | undefined;

  private constructor(
    private readonly server: Server,
    private readonly targetPort: number,
  ) {
    server.on('connection', (client) => this.accept(client));
  }

  static async start(targetPort: number): Promise<FaultProxy> {
    const server = createServer();
    const proxy = new FaultProxy(server, targetPort);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    return proxy;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** How many connections its clients have open. */
  get connections(): number {
    return [...this.links].filter(({ client }) => !client.destroyed).length;
  }

  /** Every byte comes this much later, in both directions. */
  delay(ms: number): void {
    this.latencyMs = ms;
    for (const link of this.links) for (const pipe of pipesOf(link)) pipe.latencyMs = ms;
  }

  /** Nothing arrives in this direction any more; it does once it is healed. New connections can be made. */
  stop(...directions: readonly Direction[]): void {
    for (const direction of directions) {
      this.stopped.add(direction);
      for (const link of this.links) link[direction].hold();
    }
  }

  /** The connections that exist stay open for ever and carry nothing any more; new ones work. */
  abandon(): void {
    for (const link of this.links) for (const pipe of pipesOf(link)) pipe.swallow();
  }

  /** All connections break with a reset; new ones work. */
  reset(): void {
    for (const link of this.links) breakLink(link);
  }

  /** All connections break and new ones are turned away. */
  refuse(): void {
    this.isRefusing = true;
    this.reset();
  }

  heal(): void {
    this.isRefusing = false;
    this.onRequest = undefined;
    this.onReply = undefined;
    this.delay(0);
    this.stopped.clear();
    for (const link of this.links) for (const pipe of pipesOf(link)) pipe.release();
  }

  /** Of the next reply that matches only the first bytes arrive, then a reset. Resolves then. */
  cutReply(matches: Matcher): Promise<void> {
    const gate = new Gate();
    this.onReply = {
      matches,
      spring: (link, chunk) => {
        this.onReply = undefined;
        link.toClient.swallow();
        link.client.write(chunk.subarray(0, Math.max(1, Math.floor(chunk.length / 2))), () => {
          breakLink(link);
          gate.open();
        });
      },
    };
    return gate.passed();
  }

  /** The next request that matches is carried out; its reply is lost with a reset. Resolves then. */
  loseReplyTo(matches: Matcher): Promise<void> {
    const gate = new Gate();
    this.onRequest = {
      matches,
      spring: (link, chunk) => {
        this.onRequest = undefined;
        link.toClient.swallow();
        // The server answers once it has carried it out.
        link.upstream.once('data', () => {
          breakLink(link);
          gate.open();
        });
        link.upstream.write(chunk);
      },
    };
    return gate.passed();
  }

  /** Lets the server's ends of connections go whose clients are gone. */
  forgetAbandoned(): void {
    for (const { client, upstream } of this.links) if (client.destroyed) upstream.destroy();
  }

  async close(): Promise<void> {
    this.reset();
    this.server.close();
    await once(this.server, 'close');
  }

  private accept(client: Socket): void {
    if (this.isRefusing) {
      client.resetAndDestroy();
      return;
    }
    const upstream = connect(this.targetPort, '127.0.0.1');
    upstream.setNoDelay(true);
    client.setNoDelay(true);
    const link: Link = {
      client,
      upstream,
      toServer: new Pipe(client, upstream, this.latencyMs, (chunk) => this.ambush('onRequest', link, chunk)),
      toClient: new Pipe(upstream, client, this.latencyMs, (chunk) => this.ambush('onReply', link, chunk)),
    };
    this.links.add(link);
    for (const direction of this.stopped) link[direction].hold();
    for (const socket of [client, upstream]) {
      socket.on('error', () => socket.destroy());
    }
    client.on('close', () => this.end(link, link.toServer, upstream));
    upstream.on('close', () => this.end(link, link.toClient, client));
  }

  private end(link: Link, pipe: Pipe, other: Socket): void {
    // On an abandoned connection neither end hears of the other's death. This process must not keep it for ever.
    if (!pipe.isSwallowing) other.destroy();
    if (link.client.destroyed && link.upstream.destroyed) this.links.delete(link);
  }

  private ambush(which: 'onRequest' | 'onReply', link: Link, chunk: Buffer): boolean {
    const ambush = this[which];
    if (!ambush?.matches(chunk.toString('latin1'))) return false;
    ambush.spring(link, chunk);
    return true;
  }
}

function pipesOf({ toServer, toClient }: Link): readonly Pipe[] {
  return [toServer, toClient];
}

function breakLink({ client, upstream, toServer, toClient }: Link): void {
  for (const pipe of [toServer, toClient]) pipe.swallow();
  client.resetAndDestroy();
  upstream.destroy();
}
