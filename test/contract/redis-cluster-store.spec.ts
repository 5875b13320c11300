/**
 * On a real cluster the Redis stores keep the same contracts. Redis itself refuses a script that touches a key of
 * another slot than the two it declares, so this also holds every script to one slot.
 */
import { afterAll, beforeAll } from '@jest/globals';
import { setTimeout as sleep } from 'node:timers/promises';
import { INTERNAL } from '#lib/options/defaults.js';
import { ClusterConnection } from '#lib/store/redis/cluster-connection.js';
import { RedisJobStore } from '#lib/store/redis/redis-job-store.js';
import { RedisLockStore } from '#lib/store/redis/redis-lock-store.js';
import { OwnCluster } from '../support/own-cluster.js';
import { newPrefix } from '../support/redis.js';
import { describeJobStoreContract } from './job-store.contract.js';
import { describeLockStoreContract } from './lock-store.contract.js';

const PLENTY = { count: 100_000, ageMs: 86_400_000 };

let cluster: OwnCluster;
beforeAll(async () => {
  cluster = await OwnCluster.start();
});
afterAll(() => cluster?.close());

async function connect(): Promise<ClusterConnection> {
  const connection = new ClusterConnection(
    { cluster: cluster.addresses, redis: {} },
    { commandTimeoutMs: 5_000, reconnect: INTERNAL.storeRetry, warn: () => {} },
  );
  await connection.open();
  return connection;
}

describeJobStoreContract('redis cluster', async ({ retention = {} }) => {
  const connection = await connect();
  const store = new RedisJobStore(connection, {
    prefix: newPrefix(),
    queue: `jobs-${newPrefix()}`,
    retention: { done: PLENTY, dead: PLENTY, cancelled: PLENTY, ...retention },
  });
  return { store, advance: (ms) => sleep(ms), close: () => connection.close() };
});

describeLockStoreContract('redis cluster', async () => {
  const connection = await connect();
  const prefix = newPrefix();
  const store = new RedisLockStore(connection, prefix);
  const stores = [store];
  return {
    store,
    openPeer: () => {
      const peer = new RedisLockStore(connection, prefix);
      stores.push(peer);
      return peer;
    },
    advance: (ms) => sleep(ms),
    deleteEverything: async () => {
      const client = cluster.open();
      await new Promise((resolve) => client.once('ready', resolve));
      await Promise.all(client.nodes('master').map((node) => node.flushall()));
      client.disconnect();
    },
    close: async () => {
      await Promise.all(stores.map((opened) => opened.close()));
      await connection.close();
    },
  };
});
