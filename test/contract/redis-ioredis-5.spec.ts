/** The stores keep their contracts through ioredis 5, of which all their connections are duplicates. */
import { Redis as Redis5 } from 'ioredis-5';
import { ConfigurationError } from '@fenceline/nestjs';
import {
  resolveConnection,
  type ResolvedClient,
  type ResolvedCluster,
} from '#lib/options/resolve-connection.js';
import type { RedisConnectionOptions } from '#lib/store/redis/connection.js';
import { describeRedisContracts } from './redis-contracts.js';

function connect(url: string): RedisConnectionOptions {
  // It never connects: the library only takes its options.
  const client: unknown = new Redis5(url, { lazyConnect: true });
  const resolved = resolveConnection({ client });
  if (resolved === 'memory' || !isOneServer(resolved)) {
    throw new ConfigurationError('connection', client, 'must be a client of one server');
  }
  return resolved;
}

function isOneServer(resolved: ResolvedClient | ResolvedCluster): resolved is ResolvedClient {
  return 'url' in resolved || ('client' in resolved && !resolved.client.isCluster);
}

describeRedisContracts('ioredis 5', connect);
