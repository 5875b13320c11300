/**
 * Random commands on jobs with every kind of key, through the memory store, which is the model, and through
 * Redis. After each command both must have answered alike and show the same; at the end every job can be
 * brought to an end and leaves no key behind. A failure is replayed with FC_SEED (and FC_PATH).
 */
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import type { QueueRetention } from '#lib/store/redis/worker-scripts.js';
import { MemoryJobStore } from '#lib/store/memory/memory-job-store.js';
import { openRedisStore } from '../support/redis-store.js';
import { keysOf, openRedis } from '../support/redis.js';
import { scenario, type Scenario } from './keys-commands.js';
import { QueueWorld } from './queue-world.js';

const SEED = Number(process.env.FC_SEED ?? Date.now() % 2 ** 31);
const RUNS = Number(process.env.FC_RUNS ?? 300);
const DAY_MS = 86_400_000;

let redis: Redis;
beforeAll(() => {
  redis = openRedis();
});
afterAll(() => {
  redis.disconnect();
});

async function redisTime(): Promise<number> {
  const [seconds, micros] = await redis.time();
  return Number(seconds) * 1_000 + Math.floor(Number(micros) / 1_000);
}

/** The next ms of Redis's time. Each command gets one of its own, so that both stores see them in the same order. */
async function nextTime(): Promise<number> {
  const before = await redisTime();
  for (;;) {
    const now = await redisTime();
    if (now > before) return now;
  }
}

async function compare({ retention, commands }: Scenario): Promise<void> {
  const kept: QueueRetention = {
    done: { count: retention.done, ageMs: DAY_MS },
    dead: { count: retention.dead, ageMs: DAY_MS },
    cancelled: { count: retention.cancelled, ageMs: DAY_MS },
  };
  const harness = await openRedisStore(kept);
  try {
    let now = 0;
    const memory = new MemoryJobStore({ queue: 'jobs', retention: kept, clock: () => now });
    const model = new QueueWorld(memory);
    const system = new QueueWorld(harness.store);
    for (const [i, command] of commands.entries()) {
      now = await nextTime();
      const at = `command ${i}, ${JSON.stringify(command)}`;
      agree(at, await system.run(command), await model.run(command));
      agree(at, await system.look(), await model.look());
    }
    now = await nextTime();
    const nothing = { scheduled: 0, queued: 0, blocked: 0, processing: 0, retrying: 0 };
    expect(await model.finish()).toEqual(nothing);
    expect(await system.finish()).toEqual(nothing);
    expect(await leftBehind(harness.redis, harness.prefix)).toEqual([]);
  } finally {
    await harness.close();
  }
}

/** Jest's own comparison takes longer than both stores. */
function agree(at: string, system: unknown, model: unknown): void {
  if (!isDeepStrictEqual(system, model)) expect({ at, system }).toEqual({ at, system: model });
}

/** Keys that outlived every job. What may: a window, by its TTL, and the record of what was done. */
async function leftBehind(client: Redis, prefix: string): Promise<string[]> {
  const found: string[] = [];
  for (const key of await keysOf(client, prefix)) {
    const [, kind] = /\{jobs\}:(lock|waiting|dedup|idempotency):/.exec(key) ?? [];
    if (kind === undefined) continue;
    const expires = (await client.pttl(key)) > 0;
    const mayStay = expires && (kind === 'dedup' || kind === 'idempotency');
    if (!mayStay) found.push(key);
  }
  return found;
}

it(`both stores do the same (FC_SEED=${SEED})`, async () => {
  await fc.assert(fc.asyncProperty(scenario, compare), {
    seed: SEED,
    numRuns: RUNS,
    ...(process.env.FC_PATH === undefined ? {} : { path: process.env.FC_PATH }),
  });
}, 600_000);
