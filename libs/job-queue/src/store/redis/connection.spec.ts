import { describe, expect, it } from '@jest/globals';
import { RedisConnection } from './connection.js';

describe('RedisConnection', () => {
  it('lets nobody wait for a connection any more once it is closed', async () => {
    const connection = new RedisConnection(
      { url: 'redis://127.0.0.1:1' },
      {
        commandTimeoutMs: 20_000,
        reconnect: { baseDelayMs: 5_000, maxDelayMs: 5_000, jitter: 'none' },
        warn() {},
      },
    );
    const waiting = connection
      .call('', (client) => client.ping())
      .then(
        () => 'answered',
        (error: unknown) => error,
      );
    // Refused once, and now it waits to try again: ioredis has no connection of which it could tell the end.
    await new Promise((resolve) => setTimeout(resolve, 100));
    const closedAt = performance.now();
    await connection.close();
    expect(await waiting).toMatchObject({ message: expect.stringContaining('the connection is closed') });
    expect(performance.now() - closedAt).toBeLessThan(1_000);
  });
});
