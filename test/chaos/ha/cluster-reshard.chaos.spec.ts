/**
 * Slots of a cluster are moved under load, the queue's own and thousands of others: no transition is carried out by
 * half, and no accepted job is lost.
 */
import { execFile } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '../../support/eventually.js';
import { OwnCluster, slotOf } from '../../support/own-cluster.js';
import { inconsistencies } from '../../support/queue-consistency.js';
import { openRedis } from '../../support/redis.js';
import { SteadyLoad } from '../../support/steady-load.js';

const run = promisify(execFile);
const PARTITIONS = 8;
const NAMES = Array.from({ length: PARTITIONS }, (_, i) => `jobs:${i}`);

describe('a live reshard', () => {
  let cluster: OwnCluster | undefined;
  let load: SteadyLoad | undefined;
  afterEach(async () => {
    await load?.close();
    await cluster?.close();
  });

  it('loses nothing and leaves nothing half done', async () => {
    cluster = await OwnCluster.start({ primaries: 3, replicasEach: 1 });
    load = await SteadyLoad.start(
      {
        connection: { cluster: cluster.addresses },
        queues: [{ name: 'jobs', partitions: PARTITIONS, leaseMs: 4_000, concurrency: 50 }],
        commandTimeoutMs: 3_000,
        maintenance: { reapIntervalMs: 1_000 },
      },
      {
        pauseMs: 20,
        // Plain ones, some that wait for each other, some that wait for their time.
        optionsOf: (n) => ({
          ...(n % 3 === 0 ? { resourceKey: `user:${n % 17}` } : {}),
          ...(n % 5 === 0 ? { delayMs: 50 } : {}),
        }),
      },
    );
    const { runs } = load;
    await eventually(() => runs.length > 1_000, { timeoutMs: 20_000 });

    const startedAt = performance.now();
    // Each of the queue's own slots, slowly, so that calls meet every stage of its way.
    for (const name of NAMES) {
      const slot = slotOf(`{${name}}`);
      const from = await cluster.ownerOf(slot);
      const to = cluster.nodes.slice(0, 3).find((node) => node !== from);
      if (!to) throw new Error('there is nowhere to move to');
      const move = await cluster.beginMove(slot, to);
      for (let i = 0; i < 10; i++) {
        await move.moveKeys(3);
        await sleep(20);
      }
      await move.finish();
      await sleep(300);
    }
    // And in bulk, as an operator does it.
    const [first] = cluster.nodes;
    if (!first) throw new Error('there is no node');
    const address = `127.0.0.1:${first.port}`;
    const weights = await Promise.all(
      cluster.nodes
        .slice(0, 3)
        .map(async (node, i) => `${String(await node.command('CLUSTER', 'MYID'))}=${i + 1}`),
    );
    await run('redis-cli', ['--cluster', 'rebalance', address, '--cluster-weight', ...weights]);
    await run('redis-cli', ['--cluster', 'rebalance', address]);
    const movedMs = performance.now() - startedAt;
    const errors = await redirections(cluster);

    const ranBefore = runs.length;
    await eventually(() => runs.length > ranBefore + 500, { timeoutMs: 20_000, what: 'working on' });
    await load.stopProducing();
    await load.drain(60_000);
    const lost = await load.lost();
    const wrong: string[] = [];
    for (const name of NAMES) {
      const client = openRedis((await cluster.ownerOf(slotOf(`{${name}}`))).url);
      wrong.push(...(await inconsistencies(client, `${load.app.prefix}:{${name}}:`)));
      client.disconnect();
    }
    const { counts, lifetime } = await load.app.inspector.snapshot();
    const report = {
      movedMs: Math.round(movedMs),
      accepted: load.accepted.size,
      refused: load.refused.length,
      unknown: load.unknown.length,
      lost: lost.length,
      ranTwice: load.repeated(),
      lostLeases: lifetime.lost_leases,
      nothingRanForMs: Math.round(load.longestGapMs(startedAt, startedAt + movedMs)),
      ...errors,
    };
    process.stdout.write(`${JSON.stringify(report, undefined, 2)}\n`);
    expect(wrong).toEqual([]);
    expect(lost).toEqual([]);
    expect(counts.dead).toBe(0);
    // A refused one is certainly not there; an unknown one is there or not.
    expect(counts.done).toBeGreaterThanOrEqual(load.accepted.size);
    expect(counts.done).toBeLessThanOrEqual(load.accepted.size + load.unknown.length);
    for (const kind of ['MOVED', 'ASK', 'TRYAGAIN']) expect(errors[kind]).toBeGreaterThan(0);
  }, 170_000);
});

/** How many commands were redirected, in all nodes together. */
async function redirections(cluster: OwnCluster): Promise<Record<string, number>> {
  const sums: Record<string, number> = { MOVED: 0, ASK: 0, TRYAGAIN: 0 };
  for (const node of cluster.nodes) {
    const stats = String(await node.command('INFO', 'errorstats'));
    for (const [, kind = '', count] of stats.matchAll(/^errorstat_(\w+):count=(\d+)/gm)) {
      if (kind in sums) sums[kind] = (sums[kind] ?? 0) + Number(count);
    }
  }
  return sums;
}
