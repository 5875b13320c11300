/** An app on a cluster: several queues, one of them with partitions, whose work all nodes share; and a node that dies. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { OwnCluster, slotOf } from '../support/own-cluster.js';
import type { OwnRedis } from '../support/own-redis.js';
import { keysOf, openRedis } from '../support/redis.js';
import { SteadyLoad } from '../support/steady-load.js';

const PARTITIONS = 8;
const QUEUES = [
  { name: 'jobs', partitions: PARTITIONS, leaseMs: 4_000 },
  { name: 'mail' },
  { name: 'reports' },
];

describe('on a cluster', () => {
  let cluster: OwnCluster;
  let load: SteadyLoad | undefined;
  beforeAll(async () => {
    cluster = await OwnCluster.start({ primaries: 3, replicasEach: 1 });
  }, 60_000);
  afterAll(() => cluster?.close());
  afterEach(async () => {
    await load?.close();
    load = undefined;
  });

  const start = async (): Promise<SteadyLoad> => {
    load = await SteadyLoad.start({
      connection: { cluster: cluster.addresses.slice(0, 2) },
      queues: QUEUES,
      commandTimeoutMs: 3_000,
    });
    return load;
  };

  it('spreads the partitions of a queue over the nodes, and keeps every queue in its slots', async () => {
    const primaries = cluster.nodes.slice(0, 3);
    const scriptsBefore = await Promise.all(primaries.map(scriptCalls));
    const { app, runs } = await start();
    await eventually(() => runs.length > 2_000, { timeoutMs: 20_000 });
    await app.queue.queue('mail').enqueue('work', {});
    await app.queue.queue('reports').enqueue('work', {});
    await load?.stopProducing();
    const scripts = await Promise.all(primaries.map(scriptCalls));
    const calls = scripts.map((count, i) => count - (scriptsBefore[i] ?? 0));

    const keys = (await Promise.all(primaries.map(keysAt(app.prefix)))).flat();
    const tags = new Set(keys.map((key) => /\{(.*?)\}/.exec(key)?.[1]));
    const expected = Array.from({ length: PARTITIONS }, (_, i) => `jobs:${i}`);
    // The record of the number, and nothing else, is under the plain name.
    expect(tags).toEqual(new Set(['jobs', ...expected, 'mail', 'reports']));
    expect(keys.filter((key) => key.includes('{jobs}'))).toEqual([`${app.prefix}:{jobs}:meta`]);

    // As even as hashing 8 names over 3 nodes is: commands follow the partitions that a node has.
    const owners = await Promise.all(expected.map((name) => cluster.ownerOf(slotOf(`{${name}}`))));
    const shares = primaries.map((node) => owners.filter((owner) => owner === node).length);
    const total = calls.reduce((sum, count) => sum + count, 0);
    process.stdout.write(
      `scripts per node: ${calls.join(', ')}; partitions per node: ${shares.join(', ')}; jobs ${runs.length}\n`,
    );
    for (const [i, share] of shares.entries()) {
      expect((calls[i] ?? 0) / total).toBeGreaterThan((0.6 * share) / PARTITIONS);
      expect((calls[i] ?? 0) / total).toBeLessThan((1.5 * share) / PARTITIONS + 0.05);
    }
  });

  it('goes on by itself when a node dies, and loses nothing that was replicated', async () => {
    const started = await start();
    const { accepted, runs } = started;
    await eventually(() => runs.length > 500, { timeoutMs: 20_000 });
    const victim = await cluster.ownerOf(slotOf('{jobs:0}'));
    const killedAt = performance.now();
    await victim.crash();
    await eventually(async () => (await cluster.ownerOf(slotOf('{jobs:0}'))) !== victim, {
      timeoutMs: 20_000,
      what: 'a failover',
    });
    const failedOverMs = performance.now() - killedAt;
    const ranBefore = runs.length;
    await eventually(() => runs.length > ranBefore + 500, { timeoutMs: 20_000, what: 'working on' });
    const gapMs = started.longestGapMs(killedAt, performance.now());
    await started.stopProducing();
    await started.drain();
    const lost = await started.lost();
    process.stdout.write(
      `node killed: accepted ${accepted.size}, lost ${lost.length}, ran twice ${started.repeated()}, failover ` +
        `${Math.round(failedOverMs)} ms, nothing ran for ${Math.round(gapMs)} ms\n`,
    );
    for (const id of lost) expect(killedAt - (accepted.get(id) ?? 0)).toBeLessThan(500);
    expect(gapMs).toBeLessThan(failedOverMs + 5_000);
  }, 60_000);
});

async function scriptCalls(node: OwnRedis): Promise<number> {
  const stats = String(await node.command('INFO', 'commandstats'));
  return ['evalsha', 'eval'].reduce(
    (sum, name) => sum + Number(new RegExp(`^cmdstat_${name}:calls=(\\d+)`, 'm').exec(stats)?.[1] ?? 0),
    0,
  );
}

const keysAt =
  (prefix: string) =>
  async (node: OwnRedis): Promise<string[]> => {
    const client = openRedis(node.url);
    const keys = await keysOf(client, prefix);
    client.disconnect();
    return keys;
  };
