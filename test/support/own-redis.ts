/** A Redis server that belongs to one test, which may stop, freeze, fill and restart it. It keeps its data. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startServer, type StartedServer } from '#scripts/find-redis.mjs';
import { openRedis } from './redis.js';

export class OwnRedis {
  private pid = 0;

  private constructor(
    private readonly folder: string,
    private readonly args: readonly string[],
    private server: StartedServer | undefined,
    readonly port: number,
  ) {}

  /** At a free port unless one is given. */
  static async start(args: readonly string[] = [], port?: number): Promise<OwnRedis> {
    const folder = mkdtempSync(join(tmpdir(), 'fenceline-own-redis-'));
    const all = ['--dir', folder, '--appendonly', 'yes', '--appendfsync', 'no', ...args];
    const server = await startServer({ args: all, ...(port === undefined ? {} : { port }) });
    const own = new OwnRedis(folder, all, server, server.port);
    await own.learnPid();
    return own;
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** One command, over a connection of its own. */
  async command(name: string, ...args: (string | number)[]): Promise<unknown> {
    const client = openRedis(this.url);
    try {
      return await client.call(name, args);
    } finally {
      client.disconnect();
    }
  }

  async stop(): Promise<void> {
    await this.server?.stop();
    this.server = undefined;
  }

  /** It gets no chance to write or to say anything. */
  async kill(): Promise<void> {
    if (this.server) process.kill(this.pid, 'SIGKILL');
    await this.stop();
  }

  /** At the same port, with the data it had. */
  async restart(): Promise<void> {
    await this.stop();
    this.server = await startServer({ port: this.port, args: [...this.args] });
    await this.learnPid();
  }

  /** Connections stay open and can be made, but nothing is answered. */
  freeze(): void {
    process.kill(this.pid, 'SIGSTOP');
  }

  /** Goes on with everything that was sent meanwhile. */
  thaw(): void {
    process.kill(this.pid, 'SIGCONT');
  }

  async close(): Promise<void> {
    if (this.server) this.thaw();
    await this.stop();
    rmSync(this.folder, { recursive: true, force: true });
  }

  private async learnPid(): Promise<void> {
    const info = String(await this.command('INFO', 'server'));
    this.pid = Number(/^process_id:(\d+)/m.exec(info)?.[1]);
  }
}
