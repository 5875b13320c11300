/** The connection to a cluster: what it does while keys move, replies get lost and nodes die. */
import { afterEach, beforeAll, afterAll, describe, expect, it } from '@jest/globals';
import { Cluster, type Redis } from 'ioredis';
import { INTERNAL } from '#lib/options/defaults.js';
import { ClusterConnection } from '#lib/store/redis/cluster-connection.js';
import { RedisCallError } from '#lib/store/redis/connection.js';
import { RedisJobStore } from '#lib/store/redis/redis-job-store.js';
import { RedisLockStore } from '#lib/store/redis/redis-lock-store.js';
import { newJob } from '../contract/contract-store.js';
import { eventually } from '../support/eventually.js';
import { OwnCluster, slotOf } from '../support/own-cluster.js';
import type { OwnRedis } from '../support/own-redis.js';
import { newPrefix } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';

const KEEP = { count: 1_000, ageMs: 86_400_000 };
const RETENTION = { done: KEEP, dead: KEEP, cancelled: KEEP };
const SETTINGS = { commandTimeoutMs: 5_000, reconnect: INTERNAL.storeRetry, warn: () => {} };

describe('ClusterConnection', () => {
  let cluster: OwnCluster;
  const opened: { close(): Promise<unknown> }[] = [];
  beforeAll(async () => {
    cluster = await OwnCluster.start();
  });
  afterAll(() => cluster?.close());
  afterEach(async () => {
    for (const one of opened.splice(0).toReversed()) await one.close();
  });

  async function connect(changes: Partial<typeof SETTINGS> = {}): Promise<ClusterConnection> {
    const connection = new ClusterConnection(
      { cluster: cluster.addresses.slice(0, 1), redis: {} },
      { ...SETTINGS, ...changes },
    );
    opened.push(connection);
    await connection.open();
    return connection;
  }

  /** A queue whose slot has never been moved. */
  async function openQueue(changes: Partial<typeof SETTINGS> = {}) {
    const connection = await connect(changes);
    const [prefix, queue] = [newPrefix(), newPrefix()];
    const store = new RedisJobStore(connection, { prefix, queue, retention: RETENTION });
    const slot = slotOf(`{${queue}}`);
    const key = (name: string): string => `${prefix}:{${queue}}:${name}`;
    return { connection, store, slot, key };
  }

  async function anotherNode(than: OwnRedis): Promise<OwnRedis> {
    const other = cluster.nodes.find((node) => node !== than);
    if (!other) throw new Error('the cluster has one node only');
    return other;
  }

  it('waits for a slot on the move instead of running half a script, and goes on where it went', async () => {
    const { store, slot } = await openQueue();
    await store.enqueue([newJob('before')]);
    // With the worker's record there is a `meta`, and the scripts meet it alone at one side or the other.
    await store.renew({ workerId: 'w', host: 'test', pid: 1, slots: 1 }, [], 60_000);
    const from = await cluster.ownerOf(slot);
    const move = await cluster.beginMove(slot, await anotherNode(from));
    // Some keys are here, some are there.
    await move.moveKeys(1);
    const whileMoving = store.enqueue([newJob('while moving')]);
    const claimed = store.exchange({
      ...{ workerId: 'w', lane: 0, number: 1, settlements: [] },
      ...{ claimMax: 10, leaseMs: 60_000 },
    });
    await eventually(async () => {
      const stats = await Promise.all(cluster.nodes.map((node) => node.command('INFO', 'errorstats')));
      return stats.some((text) => /errorstat_TRYAGAIN:count=([2-9]|\d\d)/.test(String(text)));
    });
    await move.finish();
    expect(await whileMoving).toMatchObject([{ jobId: 'while moving', status: 'queued' }]);
    const ids = (await claimed).claimed.map(({ jobId }) => jobId);
    const { counts } = await store.snapshot();
    expect(counts).toMatchObject({ processing: ids.length, queued: 2 - ids.length });
    expect((await cluster.ownerOf(slot)).port).not.toBe(from.port);
  });

  it('refuses, with nothing stored, when the slot does not arrive in time', async () => {
    const { store, slot } = await openQueue({ commandTimeoutMs: 400 });
    await store.enqueue([newJob('before')]);
    const move = await cluster.beginMove(slot, await anotherNode(await cluster.ownerOf(slot)));
    const startedAt = performance.now();
    await expect(store.enqueue([newJob('refused')])).rejects.toMatchObject({ code: 'ENQUEUE_REFUSED' });
    expect(performance.now() - startedAt).toBeLessThan(1_000);
    await move.finish();
    expect((await store.snapshot()).counts.queued).toBe(1);
  });

  it('asks the node that has the key already', async () => {
    const { connection, store, slot, key } = await openQueue();
    await store.enqueue([newJob('one')]);
    const { claimed } = await store.exchange({
      ...{ workerId: 'w', lane: 0, number: 1, settlements: [] },
      ...{ claimMax: 1, leaseMs: 60_000 },
    });
    await store.writeCheckpoint('one', claimed[0]?.token ?? 0, '7');
    const move = await cluster.beginMove(slot, await anotherNode(await cluster.ownerOf(slot)));
    while ((await move.moveKeys(1)) > 0);
    expect(await store.readCheckpoint('one')).toBe('7');
    expect(await connection.call(key('absent'), (client) => client.get(key('absent')))).toBeNull();
    await move.finish();
    expect(await store.readCheckpoint('one')).toBe('7');
  });

  it('runs a script at a node that does not know it', async () => {
    const { store } = await openQueue();
    for (const node of cluster.nodes) await node.command('SCRIPT', 'FLUSH');
    expect(await store.enqueue([newJob('one')])).toMatchObject([{ jobId: 'one' }]);
  });

  it('wakes a worker whose wake list has moved to another node', async () => {
    const { store, slot } = await openQueue();
    const listener = store.listenForWork();
    opened.push(listener);
    const woken = eventually(async () => (await listener.wait(1_000)) === 'woken', { timeoutMs: 20_000 });
    const from = await cluster.ownerOf(slot);
    await eventually(async () => /cmd=blpop/.test(String(await from.command('CLIENT', 'LIST'))));
    const move = await cluster.beginMove(slot, await anotherNode(from));
    await move.finish();
    await store.enqueue([newJob('one')]);
    expect(await woken).toBe(true);
  });

  it('renews locks of all nodes in one go', async () => {
    const store = new RedisLockStore(await connect(), newPrefix());
    const names = Array.from({ length: 30 }, (_, i) => `lock-${i}`);
    const leases = await Promise.all(
      names.map(async (name) => {
        const reply = await store.acquire({ name, owner: name, ttlMs: 10_000, waitMs: 0 });
        return { name, owner: name, token: reply.granted ? reply.token : 0, ttlMs: 120_000 };
      }),
    );
    expect(await store.renew([...leases, { name: 'x', owner: 'x', token: 1, ttlMs: 1 }])).toEqual(['x']);
    for (const { name } of leases) {
      expect((await store.inspect(name)).holder?.leftMs).toBeGreaterThan(60_000);
    }
  });

  it('says what is wrong when there is no cluster', async () => {
    const connection = new ClusterConnection(
      { cluster: [{ host: '127.0.0.1', port: 1 }], redis: {} },
      { ...SETTINGS, commandTimeoutMs: 300 },
    );
    opened.push(connection);
    await expect(connection.open()).rejects.toThrow('Are the addresses right');
  });

  describe('through proxies, by a client of the app', () => {
    /** Every node is reached through a proxy, as behind a NAT. */
    async function connectThroughProxies() {
      const proxies = new Map<number, TcpProxy>();
      const natMap: Record<string, { host: string; port: number }> = {};
      for (const { port } of cluster.nodes) {
        const proxy = await TcpProxy.start(`redis://127.0.0.1:${port}`);
        opened.push({ close: () => proxy.stop() });
        proxies.set(port, proxy);
        natMap[`127.0.0.1:${port}`] = { host: '127.0.0.1', port: Number(new URL(proxy.url).port) };
      }
      const client = new Cluster(Object.values(natMap), { natMap, lazyConnect: true });
      const connection = new ClusterConnection({ client }, { ...SETTINGS, commandTimeoutMs: 2_000 });
      opened.push(connection);
      await connection.open();
      return { connection, proxies };
    }
    const increment = (key: string) => (client: Redis) => client.incr(key);

    it('never sends a command again whose reply was lost', async () => {
      const { connection, proxies } = await connectThroughProxies();
      const key = newPrefix();
      const proxy = proxies.get((await cluster.ownerOf(slotOf(key))).port);
      const lost = proxy?.loseReplyTo((text) => text.includes('incr'));
      const error: unknown = await connection.call(key, increment(key)).catch((caught: unknown) => caught);
      await lost;
      expect(error).toBeInstanceOf(RedisCallError);
      expect(error).toMatchObject({ mayHaveRun: true });
      expect(await connection.call(key, increment(key))).toBe(2);
    });

    it('says that nothing was sent while a node cannot be reached, and goes on when it can', async () => {
      const { connection, proxies } = await connectThroughProxies();
      const key = newPrefix();
      const proxy = proxies.get((await cluster.ownerOf(slotOf(key))).port);
      proxy?.cut();
      await connection.call(key, increment(key)).catch(() => {});
      const startedAt = performance.now();
      const error: unknown = await connection.call(key, increment(key)).catch((caught: unknown) => caught);
      expect(performance.now() - startedAt).toBeLessThan(2_500);
      expect(error).toMatchObject({ mayHaveRun: false });
      proxy?.mend();
      await expect(connection.call(key, increment(key))).resolves.toBe(1);
    });

    it('gives up a connection that hangs, and goes on with a new one', async () => {
      const { connection, proxies } = await connectThroughProxies();
      const key = newPrefix();
      await connection.call(key, increment(key));
      proxies.get((await cluster.ownerOf(slotOf(key))).port)?.freeze();
      await expect(connection.call(key, increment(key))).rejects.toMatchObject({ mayHaveRun: true });
      expect(await connection.call(key, increment(key))).toBe(2);
    });

    it('finds its way back after all nodes were away', async () => {
      const { connection, proxies } = await connectThroughProxies();
      const key = newPrefix();
      for (const proxy of proxies.values()) proxy.cut();
      for (let i = 0; i < 2; i++) await connection.call(key, increment(key)).catch(() => {});
      for (const proxy of proxies.values()) proxy.mend();
      await eventually(() => connection.call(key, increment(key)).catch(() => false as const));
    });
  });
});
