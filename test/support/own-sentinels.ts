/** One primary, two replicas and three Sentinels that belong to one test: real processes, which it may kill and freeze. */
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findServerBinary } from '#scripts/find-redis.mjs';
import { eventually } from './eventually.js';
import { freeClusterPort } from './own-cluster.js';
import { OwnRedis } from './own-redis.js';
import { openRedis } from './redis.js';

const NAME = 'primary';
const DOWN_AFTER_MS = 1_000;
const FAILOVER_TIMEOUT_MS = 4_000;

export class OwnSentinels {
  private constructor(
    /** First the primary, as it was at the start. */
    readonly servers: readonly OwnRedis[],
    private readonly sentinels: readonly Sentinel[],
  ) {}

  /** `args` of every server. */
  static async start(args: readonly string[] = []): Promise<OwnSentinels> {
    const servers: OwnRedis[] = [];
    const sentinels: Sentinel[] = [];
    const group = new OwnSentinels(servers, sentinels);
    try {
      const primary = await OwnRedis.start(args);
      servers.push(primary);
      const replicaOf = ['--replicaof', `127.0.0.1 ${primary.port}`, '--repl-diskless-sync-delay', '0'];
      for (let i = 0; i < 2; i++) servers.push(await OwnRedis.start([...args, ...replicaOf]));
      for (let i = 0; i < 3; i++) sentinels.push(await Sentinel.start(primary.port));
      await group.untilWatched();
    } catch (error) {
      await group.close();
      throw error;
    }
    return group;
  }

  /** ioredis options that lead to whoever is the primary. */
  get options(): { sentinels: { host: string; port: number }[]; name: string } {
    return { sentinels: this.sentinels.map(({ port }) => ({ host: '127.0.0.1', port })), name: NAME };
  }

  /** Whom the Sentinels take for the primary. */
  async primary(): Promise<OwnRedis> {
    const reply = await this.sentinels[0]?.command('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', NAME);
    const port = Number(Array.isArray(reply) ? reply[1] : 0);
    const found = this.servers.find((server) => server.port === port);
    if (!found) throw new Error(`the Sentinels name ${JSON.stringify(reply)} as the primary`);
    return found;
  }

  /** Until they name another primary, which takes writes. */
  async untilFailedOver(from: OwnRedis): Promise<OwnRedis> {
    return eventually(
      async () => {
        const primary = await this.primary();
        // A frozen one would never answer.
        if (primary === from) return false;
        const role = await primary.command('ROLE');
        return Array.isArray(role) && role[0] === 'master' && primary;
      },
      { timeoutMs: 30_000, what: 'a failover' },
    );
  }

  async close(): Promise<void> {
    await Promise.all(this.sentinels.map((sentinel) => sentinel.close()));
    await Promise.all(this.servers.map((server) => server.close()));
  }

  /** Every Sentinel knows the others and both replicas, and these are in sync. */
  private async untilWatched(): Promise<void> {
    for (const sentinel of this.sentinels) {
      await eventually(
        async () => {
          const reply = await sentinel.command('SENTINEL', 'MASTER', NAME);
          const fields = Array.isArray(reply) ? reply.map(String) : [];
          const field = (name: string): string | undefined => fields[fields.indexOf(name) + 1];
          return field('num-slaves') === '2' && field('num-other-sentinels') === '2';
        },
        { timeoutMs: 20_000, what: 'agreement of the Sentinels' },
      );
    }
    for (const replica of this.servers.slice(1)) {
      await eventually(async () =>
        String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
      );
    }
  }
}

class Sentinel {
  private constructor(
    readonly port: number,
    private readonly process: ChildProcess,
    private readonly folder: string,
  ) {}

  static async start(primaryPort: number): Promise<Sentinel> {
    const binary = findServerBinary();
    if (!binary) throw new Error('there is no redis-server');
    const port = await freeClusterPort();
    const folder = mkdtempSync(join(tmpdir(), 'fenceline-sentinel-'));
    const file = join(folder, 'sentinel.conf');
    writeFileSync(
      file,
      `port ${port}\nbind 127.0.0.1\ndir ${folder}\nsentinel monitor ${NAME} 127.0.0.1 ${primaryPort} 2\n` +
        `sentinel down-after-milliseconds ${NAME} ${DOWN_AFTER_MS}\n` +
        `sentinel failover-timeout ${NAME} ${FAILOVER_TIMEOUT_MS}\nsentinel parallel-syncs ${NAME} 2\n`,
    );
    const child = spawn(binary, [file, '--sentinel'], { stdio: 'ignore' });
    // The last resort, for a test run that crashes.
    const onExit = (): void => void child.kill('SIGKILL');
    process.once('exit', onExit);
    child.once('exit', () => process.off('exit', onExit));
    const sentinel = new Sentinel(port, child, folder);
    await eventually(() => sentinel.command('PING'), { what: 'the start of a Sentinel' });
    return sentinel;
  }

  async command(name: string, ...args: string[]): Promise<unknown> {
    const client = openRedis(`redis://127.0.0.1:${this.port}`);
    try {
      return await client.call(name, args);
    } finally {
      client.disconnect();
    }
  }

  async close(): Promise<void> {
    if (this.process.exitCode === null) {
      const exited = once(this.process, 'exit');
      this.process.kill('SIGKILL');
      await exited;
    }
    rmSync(this.folder, { recursive: true, force: true });
  }
}
