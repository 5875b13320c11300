/** The app's own Redis connection, for cached copies. The job queue has connections of its own. */
import { Logger } from '@nestjs/common';
import { Redis } from 'ioredis';

/** A client that fails at once instead of waiting: readers then go to the source, and jobs are retried. */
export function createCacheClient(url: string): Redis {
  const logger = new Logger('CacheConnection');
  const client = new Redis(url, {
    lazyConnect: true,
    enableOfflineQueue: false,
    autoResendUnfulfilledCommands: false,
    maxRetriesPerRequest: 0,
    commandTimeout: 1_000,
    connectTimeout: 1_000,
  });
  // One line per outage, not one per attempt to reconnect.
  let down = false;
  client.on('ready', () => (down = false));
  client.on('error', (error) => {
    if (!down) logger.warn(`The Redis of the cache cannot be reached: ${error.message}`);
    down = true;
  });
  return client;
}
