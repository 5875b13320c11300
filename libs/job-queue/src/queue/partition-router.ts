/** Decides which partition a job goes to: by its keys, so that whatever must meet does, else by turns. */
import { PartitionConflictError } from '../errors/key-errors.js';
import { partitionInId, partitionOfId, partitionOfKey } from '../job/partition.js';
import type { EnqueueOptions } from '../options/options.js';

export class PartitionRouter {
  private turn = 0;

  constructor(private readonly partitions: number) {}

  /** @throws PartitionConflictError when its keys belong to different partitions and no `partitionKey` decides. */
  route(options: EnqueueOptions | undefined): number {
    const { partitions } = this;
    const { partitionKey, jobId } = options ?? {};
    const routes = options ? routesOf(options, partitions) : [];
    if (partitionKey !== undefined) {
      const partition = partitionOfKey(partitionKey, partitions);
      // A generated id that comes back is looked up where it says; anywhere else it would be a second job.
      const said = jobId === undefined ? undefined : partitionInId(jobId, partitions);
      if (said !== undefined && said !== partition) {
        throw new PartitionConflictError({ partitionKey: partition, jobId: said });
      }
      return partition;
    }
    const [first] = routes;
    if (!first) return this.turn++ % partitions;
    if (routes.some(([, partition]) => partition !== first[1])) {
      throw new PartitionConflictError(Object.fromEntries(routes));
    }
    return first[1];
  }
}

function routesOf(options: EnqueueOptions, partitions: number): [option: string, partition: number][] {
  const { resourceKey, idempotencyKey, dedup, jobId } = options;
  const routes: [string, number][] = [];
  const add = (option: string, key: string | undefined): void => {
    if (key !== undefined) routes.push([option, partitionOfKey(key, partitions)]);
  };
  add('resourceKey', resourceKey);
  add('idempotencyKey', typeof idempotencyKey === 'object' ? idempotencyKey.key : idempotencyKey);
  add('dedup.key', dedup?.key);
  if (jobId !== undefined) routes.push(['jobId', partitionOfId(jobId, partitions)]);
  return routes;
}
