/** Faults of Redis itself, each alone. */
import { describe, expect, it } from '@jest/globals';
import { entriesOf } from '../checker/runs.js';
import {
  ALLOWS_DEBUG,
  KEEPS_ALL_BUT_A_SECOND,
  KEEPS_EVERYTHING,
  LONG_OUTAGE_MS,
  SERVER_FAULTS,
} from '../faults/server-faults.js';
import { setTimeout as sleep } from 'node:timers/promises';
import { REAP_INTERVAL_MS } from '../world/chaos-world.js';
import { repeated, runChaos, SEED, type Scenario } from './run-chaos.js';

const ALONE = [
  'Redis down for longer than every timeout',
  'Redis frozen for longer than a lease',
  'CLIENT KILL',
  'SCRIPT FLUSH',
  'CLIENT PAUSE',
  'CLIENT PAUSE of writes',
  'DEBUG SLEEP',
  'out of memory with noeviction',
  'a read-only replica',
] as const;

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  ...Object.fromEntries(
    ALONE.map((name): [string, Scenario] => [name, { redis: ALLOWS_DEBUG, disturb: SERVER_FAULTS[name] }]),
  ),
  'kill -9 of Redis with appendfsync always, 3 times': {
    redis: KEEPS_EVERYTHING,
    disturb: repeated(3, SERVER_FAULTS['kill -9 of Redis and a restart']),
    feltAs: ['outages'],
  },
  'kill -9 of Redis with appendfsync everysec, 3 times': {
    redis: KEEPS_ALL_BUT_A_SECOND,
    mayLose: true,
    disturb: repeated(3, SERVER_FAULTS['kill -9 of Redis and a restart']),
    feltAs: ['outages'],
  },
  'power loss with appendfsync everysec: the last second is gone': {
    redis: KEEPS_ALL_BUT_A_SECOND,
    mayLose: true,
    disturb: async ({ redis }) => {
      await redis.losePower(1_000);
      await redis.restart();
    },
    feltAs: ['outages', 'lost'],
  },
  'FLUSHALL: every worker tells it, and health shows it': {
    mayLose: true,
    disturb: async (world) => {
      // Until every worker has seen the queue: what nobody has seen, nobody misses.
      await sleep(2 * REAP_INTERVAL_MS);
      await SERVER_FAULTS.FLUSHALL(world);
    },
    inspect: async (world) => {
      for (const slot of world.workers) {
        const { status, message } = await slot.current.health();
        expect({ status, message }).toMatchObject({
          status: 'degraded',
          message: expect.stringContaining('the store lost everything it held of queue "jobs"'),
        });
      }
    },
    expects: (evidence) => {
      const told = entriesOf(evidence, 'event').filter(({ event }) => event === 'store_lost_data');
      expect(told.map(({ by, lost }) => `${by} ${lost}`).toSorted()).toEqual([
        'worker-1.1 all',
        'worker-2.1 all',
        'worker-3.1 all',
      ]);
    },
    feltAs: ['lost'],
  },
  'Redis down at boot for longer than every timeout': {
    boot: async (world) => {
      await world.redis.stop();
      await world.startAll();
      await sleep(LONG_OUTAGE_MS);
      await world.redis.restart();
    },
    disturb: (world) => world.untilDone(200),
    feltAs: ['outages', 'enqueuesRefused'],
  },
};

describe(`server, CHAOS_SEED=${SEED}`, () => {
  it.each(Object.keys(SCENARIOS))('%s', async (name) => {
    const scenario = SCENARIOS[name];
    if (scenario) await runChaos(name, scenario);
  });
});
