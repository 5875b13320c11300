/** A mail server that keeps what it is given, and that can be told to refuse or to fall silent. */
import { once } from 'node:events';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';

export interface ReceivedMail {
  readonly from: string;
  readonly to: string;
  readonly data: string;
}

export class SmtpSink {
  readonly received: ReceivedMail[] = [];
  /** Answers to the next RCPT commands; `silence` never answers. Empty: accept. */
  readonly nextRecipientReplies: string[] = [];
  /** When set, every RCPT command is answered with it. */
  recipientReply: string | undefined;
  /** Answers to EHLO and AUTH. */
  greetingReply = '250 ok';
  loginReply = '235 ok';
  recipientsAsked = 0;
  private readonly sockets = new Set<Socket>();

  private constructor(private readonly server: Server) {
    server.on('connection', (socket) => this.serve(socket));
  }

  static async start(): Promise<SmtpSink> {
    const sink = new SmtpSink(createServer());
    sink.server.listen(0, '127.0.0.1').unref();
    await once(sink.server, 'listening');
    return sink;
  }

  get url(): string {
    return `smtp://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  get openConnections(): number {
    return this.sockets.size;
  }

  async stop(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.server.close();
    await once(this.server, 'close');
  }

  private serve(socket: Socket): void {
    this.sockets.add(socket);
    socket.on('close', () => this.sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    const session = new SmtpSession(this, (line) => socket.write(`${line}\r\n`));
    let buffer = '';
    socket.setEncoding('utf8').on('data', (chunk: string) => {
      const lines = (buffer + chunk).split('\r\n');
      buffer = lines.pop() ?? '';
      for (const line of lines) session.hear(line);
    });
  }
}

class SmtpSession {
  private from = '';
  private to = '';
  private data: string[] | undefined;

  constructor(
    private readonly sink: SmtpSink,
    private readonly say: (line: string) => void,
  ) {
    say('220 sink');
  }

  hear(line: string): void {
    if (this.data) return this.hearData(this.data, line);
    const address = /<(.*?)>/.exec(line)?.[1] ?? '';
    switch (line.slice(0, 4).toUpperCase()) {
      case 'EHLO':
        return this.say(this.sink.greetingReply);
      case 'AUTH':
        return this.say(this.sink.loginReply);
      case 'MAIL':
        this.from = address;
        return this.say('250 ok');
      case 'RCPT':
        this.to = address;
        return this.answerRecipient();
      case 'DATA':
        this.data = [];
        return this.say('354 go on');
      case 'QUIT':
        return this.say('221 bye');
      default:
        return this.say('250 ok');
    }
  }

  private hearData(lines: string[], line: string): void {
    if (line !== '.') {
      lines.push(line.startsWith('.') ? line.slice(1) : line);
      return;
    }
    this.sink.received.push({ from: this.from, to: this.to, data: lines.join('\n') });
    this.data = undefined;
    this.say('250 queued as sink-1');
  }

  private answerRecipient(): void {
    this.sink.recipientsAsked++;
    const reply = this.sink.nextRecipientReplies.shift() ?? this.sink.recipientReply ?? '250 ok';
    if (reply !== 'silence') this.say(reply);
  }
}
