/** What happens to Redis itself. */
import { setTimeout as sleep } from 'node:timers/promises';
import { COMMAND_TIMEOUT_MS, LEASE_MS, REAP_INTERVAL_MS, type ChaosWorld } from '../world/chaos-world.js';
import type { Faults } from './fault.js';

/** Longer than every timeout: of a command, of a lease, and of a blocking call (5 s) with its grace (2 s). */
export const LONG_OUTAGE_MS = 8_000;
const SHORT_OUTAGE_MS = LEASE_MS + COMMAND_TIMEOUT_MS;

/** For servers that keep what they acknowledged. */
export const KEEPS_EVERYTHING = ['--appendfsync', 'always', '--auto-aof-rewrite-percentage', '0'] as const;
export const KEEPS_ALL_BUT_A_SECOND = [
  '--appendfsync',
  'everysec',
  '--auto-aof-rewrite-percentage',
  '0',
] as const;
/** `DEBUG SLEEP` is forbidden otherwise. */
export const ALLOWS_DEBUG = ['--enable-debug-command', 'local'] as const;

export const SERVER_FAULTS = {
  'kill -9 of Redis and a restart': async (world) => {
    await world.redis.crash();
    await sleep(world.random.between(0, 1_000));
    await world.redis.restart();
  },
  'a restart of Redis': async (world) => world.redis.restart(),
  'Redis down for longer than every timeout': (world) => outage(world, LONG_OUTAGE_MS),
  'Redis down for longer than a lease': (world) => outage(world, SHORT_OUTAGE_MS),
  'Redis frozen for longer than a lease': async (world) => {
    world.redis.freeze();
    await sleep(SHORT_OUTAGE_MS);
    world.redis.thaw();
  },
  'CLIENT KILL': async ({ redis, random }) => {
    for (let round = 0; round < 6; round++) {
      await redis.command('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes');
      await redis.command('CLIENT', 'KILL', 'TYPE', 'pubsub', 'SKIPME', 'yes');
      await sleep(random.between(20, 400));
    }
  },
  'SCRIPT FLUSH': async ({ redis, random }) => {
    for (let round = 0; round < 10; round++) {
      await redis.command('SCRIPT', 'FLUSH');
      await sleep(random.between(20, 200));
    }
  },
  'CLIENT PAUSE': async ({ redis }) => {
    await redis.command('CLIENT', 'PAUSE', SHORT_OUTAGE_MS, 'ALL');
    await sleep(SHORT_OUTAGE_MS + 200);
  },
  'CLIENT PAUSE of writes': async ({ redis }) => {
    await redis.command('CLIENT', 'PAUSE', SHORT_OUTAGE_MS, 'WRITE');
    await sleep(SHORT_OUTAGE_MS + 200);
  },
  'DEBUG SLEEP': async ({ redis }) => {
    for (let round = 0; round < 3; round++) {
      await redis.command('DEBUG', 'SLEEP', (SHORT_OUTAGE_MS / 1_000).toFixed(1));
      await sleep(200);
    }
  },
  'out of memory with noeviction': async ({ redis }) => {
    await redis.command('CONFIG', 'SET', 'maxmemory-policy', 'noeviction');
    await redis.command('CONFIG', 'SET', 'maxmemory', '1mb');
    await sleep(3_000);
    await redis.command('CONFIG', 'SET', 'maxmemory', 0);
  },
  FLUSHALL: async ({ redis }) => {
    await redis.command('FLUSHALL');
    await sleep(2 * REAP_INTERVAL_MS + 500);
  },
  /** Its primary is out of reach: it serves what it has and refuses writes. */
  'a read-only replica': async ({ redis }) => {
    await redis.command('REPLICAOF', '127.0.0.1', 1);
    await sleep(SHORT_OUTAGE_MS);
    await redis.command('REPLICAOF', 'NO', 'ONE');
  },
} satisfies Faults;

async function outage({ redis }: ChaosWorld, ms: number): Promise<void> {
  await redis.stop();
  await sleep(ms);
  await redis.restart();
}
