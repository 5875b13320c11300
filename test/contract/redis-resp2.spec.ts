/** The stores keep their contracts when the client speaks the older protocol, RESP2, and not RESP3. */
import { describe, expect, it } from '@jest/globals';
import { INTERNAL } from '#lib/options/defaults.js';
import { RedisConnection, type RedisConnectionOptions } from '#lib/store/redis/connection.js';
import { openRedis, redisUrl } from '../support/redis.js';
import { describeRedisContracts } from './redis-contracts.js';

/** ioredis 6 takes RESP3 unless it is told otherwise. */
function connect(url: string): RedisConnectionOptions {
  const { hostname: host, port } = new URL(url);
  return { redis: { host, port: Number(port || 6379), protocol: 2 } };
}

describeRedisContracts('RESP2', connect);

describe('the protocol', () => {
  const protocolOf = async (options: RedisConnectionOptions): Promise<string | undefined> => {
    const connection = new RedisConnection(options, {
      commandTimeoutMs: 5_000,
      reconnect: INTERNAL.storeRetry,
      warn: () => {},
    });
    const admin = openRedis();
    try {
      const id = await connection.call((client) => client.client('ID'));
      const list = String(await admin.call('CLIENT', 'LIST', 'ID', id));
      return /\bresp=(\d)/.exec(list)?.[1];
    } finally {
      admin.disconnect();
      await connection.close();
    }
  };

  it('is RESP2 when asked for, else RESP3', async () => {
    expect(await protocolOf(connect(redisUrl()))).toBe('2');
    expect(await protocolOf({ url: redisUrl() })).toBe('3');
  });
});
