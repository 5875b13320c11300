/** Reads what the bench measures at a Redis server: CPU time, commands, memory, and the commands clients send. */
import { Redis } from 'ioredis';

export interface RedisReading {
  /** µs of CPU, user and system, since the server started. */
  readonly cpuMicros: number;
  /** Calls of all commands, those inside scripts included. */
  readonly commands: number;
  /** Calls of scripts. */
  readonly scripts: number;
  /** Used memory without the buffers of the clients. */
  readonly memoryBytes: number;
}

export interface CommandRates {
  /** What clients sent. */
  readonly sentPerSecond: number;
  /** That, and what scripts called. */
  readonly commandsPerSecond: number;
}

export class RedisProbe {
  private readonly redis: Redis;

  constructor(url: string) {
    this.redis = new Redis(url);
  }

  async read(): Promise<RedisReading> {
    const info = await this.redis.info('cpu', 'memory', 'commandstats');
    const calls = [...info.matchAll(/^cmdstat_([^:]+):calls=(\d+)/gm)].map(
      ([, name = '', count]) => [name, Number(count)] as const,
    );
    const sum = (counted: (name: string) => boolean): number =>
      calls.reduce((total, [name, count]) => total + (counted(name) ? count : 0), 0);
    return {
      cpuMicros: (field(info, 'used_cpu_user') + field(info, 'used_cpu_sys')) * 1e6,
      commands: sum(() => true),
      scripts: sum((name) => /^(eval|evalsha|fcall)(_ro)?$/.test(name)),
      memoryBytes: field(info, 'used_memory') - field(info, 'mem_clients_normal'),
    };
  }

  async flush(): Promise<void> {
    await this.redis.flushall();
  }

  /** Watches every command for `ms`. It sends none meanwhile, but costs Redis time: only for what is slow. */
  async watchCommands(ms: number): Promise<CommandRates> {
    const monitor = await this.redis.monitor();
    let sent = 0;
    let all = 0;
    monitor.on('monitor', (_time: string, _args: string[], source: string) => {
      all++;
      if (source !== 'lua') sent++;
    });
    await new Promise((resolve) => setTimeout(resolve, ms));
    monitor.disconnect();
    return { sentPerSecond: (sent * 1_000) / ms, commandsPerSecond: (all * 1_000) / ms };
  }

  close(): void {
    this.redis.disconnect();
  }
}

export interface JobCost {
  readonly redisMicros: number;
  readonly commands: number;
  readonly scripts: number;
}

/** What one job cost Redis between two readings. */
export function costPerJob(before: RedisReading, after: RedisReading, jobs: number): JobCost {
  return {
    redisMicros: (after.cpuMicros - before.cpuMicros) / jobs,
    commands: (after.commands - before.commands) / jobs,
    scripts: (after.scripts - before.scripts) / jobs,
  };
}

/** The value below which the given part (0 to 1) of the samples lies. */
export function percentile(samples: readonly number[], part: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? Number.NaN;
}

/** The mean of the two in the middle when their number is even. */
export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  const upper = sorted[Math.floor(middle)] ?? Number.NaN;
  const lower = sorted[Math.ceil(middle) - 1] ?? Number.NaN;
  return (lower + upper) / 2;
}

function field(info: string, name: string): number {
  const value = new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)?.[1];
  if (value === undefined) throw new Error(`INFO has no ${name}`);
  return Number(value);
}
