/** Chooses the connection that leads to the Redis of the options. */
import type { ResolvedClient, ResolvedCluster } from '../../options/resolve-connection.js';
import { ClusterConnection } from './cluster-connection.js';
import { RedisConnection, type ConnectionSettings } from './connection.js';
import type { StoreConnection } from './store-connection.js';

export function openConnection(
  options: ResolvedClient | ResolvedCluster,
  settings: ConnectionSettings,
): StoreConnection {
  return isCluster(options)
    ? new ClusterConnection(options, settings)
    : new RedisConnection(options, settings);
}

function isCluster(options: ResolvedClient | ResolvedCluster): options is ResolvedCluster {
  return 'cluster' in options || ('client' in options && options.client.isCluster);
}
