/**
 * Has the last word on what a response says, whoever sends it: Nest, an exception filter, an interceptor
 * further out, or the handler itself. An interceptor alone would see neither what filters make of an error nor
 * what others make of a result, and would store what nobody was ever sent.
 */
import { asksToRepeat, pickHeaders, type Answer } from './http-answer.js';

export interface GateKeeper {
  /** Called once, with the complete answer and before it is sent. What it resolves to is sent in its place. */
  onAnswer(answer: Answer): Promise<Answer | undefined>;
  /** Called once when the body is streamed, which nobody can hold back. */
  onStream(status: number): Promise<void>;
}

/** Of Node, and of Express which is one. */
export interface NodeResponse {
  statusCode: number;
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  readonly destroyed: boolean;
  getHeader(name: string): unknown;
  removeHeader(name: string): unknown;
  setHeader(name: string, value: string | readonly string[]): unknown;
  write(...args: unknown[]): boolean;
  end(...args: unknown[]): unknown;
  once(event: 'close' | 'finish', listener: () => void): unknown;
  destroy(error?: Error): unknown;
}

/** Of Fastify. */
export interface FastifyReply {
  statusCode: number;
  readonly raw: NodeResponse;
  getHeader(name: string): unknown;
  removeHeader(name: string): unknown;
  header(name: string, value: string | readonly string[]): unknown;
  serialize(payload: unknown): unknown;
  send(payload?: unknown): unknown;
}

type State =
  /** Nothing was answered yet. */
  | 'open'
  /** The answer is with the keeper; another one comes too late. */
  | 'held'
  /** The keeper has done its part. */
  | 'passing';

/** Set by the frameworks for the body at hand; those of another body would be wrong. */
const BODY_HEADERS = ['content-type', 'content-length', 'transfer-encoding', 'etag'];

export abstract class ResponseGate {
  protected state: State = 'open';

  constructor(
    /** What the response says of itself is stored as far as it is listed here. */
    private readonly headerNames: readonly string[],
    private readonly keeper: GateKeeper,
  ) {}

  abstract readonly raw: NodeResponse;
  protected abstract readonly head: Pick<NodeResponse, 'statusCode' | 'getHeader' | 'removeHeader'>;
  protected abstract setHeader(name: string, value: string | readonly string[]): void;
  protected abstract sendBody(body: Answer['body']): void;

  /** Sends the keeper's answer if nothing was sent yet. */
  flush(): void {
    if (this.state === 'open' && !this.raw.headersSent) this.hold(undefined, () => this.sendBody(undefined));
  }

  protected hold(body: Answer['body'], sendAsItIs: () => void): void {
    this.state = 'held';
    const { statusCode: status } = this.head;
    const headers = pickHeaders(this.headerNames.map((name) => [name, this.head.getHeader(name)] as const));
    const answer = {
      status,
      headers,
      body,
      asksToRepeat: asksToRepeat(status, this.head.getHeader('retry-after')),
    };
    this.passOn(this.keeper.onAnswer(answer), sendAsItIs);
  }

  protected holdStream(sendAsItIs: () => void): void {
    this.state = 'held';
    this.passOn(
      this.keeper.onStream(this.head.statusCode).then(() => undefined),
      sendAsItIs,
    );
  }

  /** The first bytes are leaving: all that is left is to take note. */
  protected streaming(): void {
    this.state = 'passing';
    void this.keeper.onStream(this.head.statusCode);
  }

  private passOn(decision: Promise<Answer | undefined>, sendAsItIs: () => void): void {
    decision
      .then((instead) => {
        this.state = 'passing';
        if (!instead) return sendAsItIs();
        this.head.statusCode = instead.status;
        for (const name of [...BODY_HEADERS, ...this.headerNames]) this.head.removeHeader(name);
        for (const [name, value] of Object.entries(instead.headers)) this.setHeader(name, value);
        this.sendBody(instead.body);
      })
      // Whoever sent the answer has long returned; only the connection is left to tell.
      .catch((error: unknown) => this.raw.destroy(error instanceof Error ? error : undefined));
  }
}

export class NodeResponseGate extends ResponseGate {
  readonly raw: NodeResponse;
  protected readonly head: NodeResponse;
  private readonly end: NodeResponse['end'];

  constructor(response: NodeResponse, headerNames: readonly string[], keeper: GateKeeper) {
    super(headerNames, keeper);
    this.raw = this.head = response;
    this.end = response.end.bind(response);
    const write = response.write.bind(response);
    response.write = (...args) => {
      if (this.state === 'held') return true;
      if (this.state === 'open') this.streaming();
      return write(...args);
    };
    // Express's send(), json() and redirect() all come down to this.
    response.end = (...args) => {
      if (this.state === 'held') return response;
      if (this.state === 'open' && !response.headersSent) {
        this.hold(bytesOf(args), () => void this.end(...args));
        return response;
      }
      if (this.state === 'open') this.streaming();
      return this.end(...args);
    };
  }

  protected setHeader(name: string, value: string | readonly string[]): void {
    this.raw.setHeader(name, value);
  }

  protected sendBody(body: Answer['body']): void {
    if (body === undefined) this.end();
    else this.end(body);
  }
}

/** Of the arguments of `end(chunk, encoding, callback)`, each of which may be missing. */
function bytesOf([chunk, encoding]: readonly unknown[]): Answer['body'] {
  if (chunk instanceof Uint8Array) return chunk;
  if (typeof chunk !== 'string') return undefined;
  const isText = typeof encoding !== 'string' || /^utf-?8$/i.test(encoding) || !Buffer.isEncoding(encoding);
  return isText ? chunk : Buffer.from(chunk, encoding);
}

export class FastifyReplyGate extends ResponseGate {
  readonly raw: NodeResponse;
  protected readonly head: FastifyReply;
  private readonly send: FastifyReply['send'];

  constructor(reply: FastifyReply, headerNames: readonly string[], keeper: GateKeeper) {
    super(headerNames, keeper);
    this.raw = reply.raw;
    this.head = reply;
    this.send = reply.send.bind(reply);
    reply.send = (payload) => {
      // Fastify itself sends the nothing that an async handler returned, after it has answered.
      if (this.state === 'held') return reply;
      // An error comes back as what Fastify's error handler makes of it.
      if (this.state === 'passing' || payload instanceof Error) return this.send(payload);
      if (isStream(payload)) this.holdStream(() => void this.send(payload));
      else this.hold(this.toBody(payload), () => void this.send(payload));
      return reply;
    };
  }

  protected setHeader(name: string, value: string | readonly string[]): void {
    this.head.header(name, value);
  }

  protected sendBody(body: Answer['body']): void {
    this.send(body);
  }

  private toBody(payload: unknown): Answer['body'] {
    if (payload === undefined || typeof payload === 'string') return payload;
    if (ArrayBuffer.isView(payload)) {
      return Buffer.from(payload.buffer, payload.byteOffset, payload.byteLength);
    }
    // As Fastify is about to do; it is done here too because the record needs the text.
    if (this.head.getHeader('content-type') === undefined) {
      this.head.header('content-type', 'application/json; charset=utf-8');
    }
    const text = this.head.serialize(payload);
    return typeof text === 'string' ? text : undefined;
  }
}

function isStream(payload: unknown): boolean {
  if (typeof payload !== 'object' || payload === null) return false;
  if (Object.prototype.toString.call(payload) === '[object Response]') return true;
  return ['pipe', 'getReader'].some((name) => typeof Reflect.get(payload, name) === 'function');
}
