/** A connection that hangs is given up by the first call that times out; the next call must not suffer for it. */
import { expect, it } from '@jest/globals';
import { INTERNAL } from '#lib/options/defaults.js';
import { RedisConnection } from '#lib/store/redis/connection.js';
import { newPrefix, openRedis, redisUrl } from '../support/redis.js';
import { TcpProxy } from '../support/tcp-proxy.js';

it('waits for the new connection instead of failing on the one that is closing', async () => {
  const proxy = await TcpProxy.start(redisUrl());
  const connection = new RedisConnection(
    { url: proxy.url },
    { commandTimeoutMs: 500, reconnect: INTERNAL.storeRetry, warn: () => {} },
  );
  const key = newPrefix();
  try {
    await connection.open();
    proxy.freeze();
    const increment = () => connection.call(key, (client) => client.incr(key));
    await expect(increment()).rejects.toMatchObject({ mayHaveRun: true });
    await expect(increment()).resolves.toBeGreaterThan(0);
  } finally {
    await connection.close();
    await proxy.stop();
    const redis = openRedis();
    await redis.del(key);
    redis.disconnect();
  }
});
