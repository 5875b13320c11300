/**
 * What a failover behind Sentinels breaks, and what it never breaks: measured with real processes, under load, with
 * replicas that keep up, replicas that lag, and a primary that comes back.
 */
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../support/eventually.js';
import { OwnSentinels } from '../../support/own-sentinels.js';
import type { OwnRedis } from '../../support/own-redis.js';
import { SteadyLoad } from '../../support/steady-load.js';

const LAG_MS = 2_000;
const COMMAND_TIMEOUT_MS = 2_000;
/** Reconnecting, with the library's backoff, once the Sentinels have decided. */
const RECONNECT_MS = 5_000;

interface Fault {
  readonly name: string;
  readonly args: readonly string[];
  /** Takes the primary away; answers the moment. */
  readonly strike: (primary: OwnRedis) => Promise<number>;
  readonly lossWindowMs: number;
  /** After the failover. */
  readonly heal?: (former: OwnRedis) => Promise<void>;
}

async function kill(primary: OwnRedis): Promise<number> {
  const at = performance.now();
  await primary.crash();
  return at;
}

/** Replication breaks and cannot be resumed; the primary does not notice that its clients' jobs have no copy. */
async function cutReplication(primary: OwnRedis): Promise<void> {
  await primary.command('ACL', 'SETUSER', 'default', '-psync', '-sync', '-replconf');
  await primary.command('CLIENT', 'KILL', 'TYPE', 'replica');
}

async function killWithLaggingReplicas(primary: OwnRedis): Promise<number> {
  await cutReplication(primary);
  await sleep(LAG_MS);
  return kill(primary);
}

async function freeze(primary: OwnRedis): Promise<number> {
  const at = performance.now();
  primary.freeze();
  return at;
}

/** It comes back as a primary, until the Sentinels tell it otherwise. */
async function thaw(former: OwnRedis): Promise<void> {
  former.thaw();
  await eventually(
    async () => {
      const role = await former.command('ROLE');
      return Array.isArray(role) && role[0] === 'slave';
    },
    { timeoutMs: 30_000, what: 'demotion of the former primary' },
  );
}

const SAFE = ['--min-replicas-to-write', '1', '--min-replicas-max-lag', '1'];

const FAULTS: readonly Fault[] = [
  { name: 'killed', args: [], strike: kill, lossWindowMs: 500 },
  {
    name: `killed, replicas ${LAG_MS} ms behind`,
    args: [],
    strike: killWithLaggingReplicas,
    lossWindowMs: LAG_MS + 500,
  },
  {
    name: `killed, replicas ${LAG_MS} ms behind, min-replicas-to-write 1`,
    args: SAFE,
    strike: killWithLaggingReplicas,
    // The primary refuses to write as soon as it has no replica.
    lossWindowMs: LAG_MS + 500,
  },
  { name: 'frozen, and back after the failover', args: [], strike: freeze, heal: thaw, lossWindowMs: 500 },
  {
    name: 'frozen, and back after the failover, min-replicas-to-write 1',
    args: SAFE,
    strike: freeze,
    heal: thaw,
    lossWindowMs: 500,
  },
];

describe('a failover behind Sentinels', () => {
  let group: OwnSentinels | undefined;
  let load: SteadyLoad | undefined;
  const report: Record<string, Record<string, number>> = {};
  afterEach(async () => {
    await load?.close();
    await group?.close();
  });
  afterAll(() => {
    process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
  });

  it.each(FAULTS)(
    'of a primary that is $name',
    async ({ name, args, strike, heal, lossWindowMs }) => {
      group = await OwnSentinels.start(args);
      load = await SteadyLoad.start({
        connection: { redis: group.options },
        commandTimeoutMs: COMMAND_TIMEOUT_MS,
      });
      const { accepted, runs } = load;
      await eventually(() => runs.length > 500);

      const primary = await group.primary();
      const goneAt = await strike(primary);
      await group.untilFailedOver(primary);
      const failedOverMs = performance.now() - goneAt;
      await heal?.(primary);
      const ranBefore = runs.length;
      await eventually(() => runs.length > ranBefore + 500, { timeoutMs: 30_000, what: 'working on' });
      const gapMs = load.longestGapMs(goneAt, performance.now());
      await load.stopProducing();
      const { inspector } = load.app;
      await eventually(
        async () => {
          const { counts } = await inspector.snapshot();
          return counts.queued + counts.processing + counts.retrying + counts.blocked === 0;
        },
        { timeoutMs: 30_000, what: 'draining' },
      );

      const lost = await load.lost();
      const oldestLostMs = Math.max(0, ...lost.map((id) => goneAt - (accepted.get(id) ?? 0)));
      report[name] = {
        accepted: accepted.size,
        refused: load.refused.length,
        unknown: load.unknown.length,
        lost: lost.length,
        oldestLostMs: Math.round(oldestLostMs),
        lostAfterwards: lost.filter((id) => (accepted.get(id) ?? 0) > goneAt).length,
        ranTwice: load.repeated(),
        tokensOutOfOrder: load.tokensOutOfOrder(),
        failedOverMs: Math.round(failedOverMs),
        nothingRanForMs: Math.round(gapMs),
      };
      expect(load.tokensOutOfOrder()).toBe(0);
      expect(oldestLostMs).toBeLessThan(lossWindowMs);
      // A primary that comes back must not go on accepting jobs: without asking the Sentinels, 30,000 were lost here.
      expect(report[name]['lostAfterwards']).toBeLessThan(100);
      expect(gapMs).toBeLessThan(failedOverMs + RECONNECT_MS);
      const { counts } = await inspector.snapshot();
      expect(counts.done).toBeGreaterThanOrEqual(accepted.size - lost.length);
    },
    120_000,
  );
});
