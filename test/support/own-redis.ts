/** A Redis server that belongs to one test, which may stop, freeze, fill and restart it. It keeps its data. */
import { mkdtempSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
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

  /** With SIGKILL: it has no chance to write anything down. */
  async crash(): Promise<void> {
    if (this.server) process.kill(this.pid, 'SIGKILL');
    await this.stop();
  }

  /**
   * As `crash`, but what it wrote to its append-only file in the last `ms` never reached the disk, as when the
   * machine loses power. Needs `auto-aof-rewrite-percentage 0`, so that there is one such file.
   */
  async losePower(ms: number): Promise<void> {
    const file = join(this.folder, 'appendonlydir/appendonly.aof.1.incr.aof');
    const { size } = statSync(file);
    await sleep(ms);
    await this.crash();
    truncateSync(file, size);
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
