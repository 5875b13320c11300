/** The Redis store keeps the contract, on a real Redis. */
import { setTimeout as sleep } from 'node:timers/promises';
import { openRedisStore } from '../support/redis-store.js';
import { describeJobStoreContract } from './job-store.contract.js';

describeJobStoreContract('redis', async ({ retention = {} }) => {
  const { store, close } = await openRedisStore(retention);
  // Redis's clock is the only clock and cannot be moved; the suite keeps the times it lets pass short.
  return { store, advance: (ms) => sleep(ms), close };
});
