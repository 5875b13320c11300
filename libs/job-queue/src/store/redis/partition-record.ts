/** Remembers in Redis over how many partitions a queue is spread: with another number its jobs would not be found. */
import { IncompatibleStoreError } from '../../errors/errors.js';
import { JOB_STATUSES } from '../../job/job.js';
import { snapshot } from './inspection-scripts.js';
import { QueueKeys } from './keys.js';
import { ScriptRunner } from './script-runner.js';
import type { StoreConnection } from './store-connection.js';

export interface PartitionedQueue {
  readonly prefix: string;
  readonly queue: string;
  readonly partitions: number;
}

/** The keys of each partition. A queue that is not partitioned is its only one, under its own name. */
export function partitionNames({ queue, partitions }: Omit<PartitionedQueue, 'prefix'>): string[] {
  return partitions === 1 ? [queue] : Array.from({ length: partitions }, (_, i) => `${queue}:${i}`);
}

/**
 * Records the number if the queue has none or is empty.
 * @throws IncompatibleStoreError when jobs are left in other partitions
 * @throws RedisCallError
 */
export async function checkPartitions(
  connection: StoreConnection,
  { prefix, queue, partitions }: PartitionedQueue,
): Promise<void> {
  const keys = new QueueKeys(prefix, queue);
  const [meta] = keys.declared;
  let recorded = Number((await connection.call(meta, (client) => client.hget(meta, 'partitions'))) ?? 1);
  while (recorded !== partitions) {
    const left = await countJobs(connection, { prefix, queue, partitions: recorded });
    if (left > 0) throw refusal(queue, recorded, partitions, left);
    recorded = Number(
      await new ScriptRunner(connection, keys).run('record-partitions', [recorded, partitions]),
    );
  }
}

async function countJobs(connection: StoreConnection, queue: PartitionedQueue): Promise<number> {
  const snapshots = await Promise.all(
    partitionNames(queue).map((name) =>
      snapshot(new ScriptRunner(connection, new QueueKeys(queue.prefix, name))),
    ),
  );
  return snapshots.reduce(
    (sum, { counts }) => JOB_STATUSES.reduce((subtotal, status) => subtotal + counts[status], sum),
    0,
  );
}

function refusal(queue: string, recorded: number, given: number, left: number): IncompatibleStoreError {
  return new IncompatibleStoreError(
    `The queue "${queue}" has ${left} jobs in ${recorded} partition(s), and this process was started with ` +
      `partitions: ${given}, where it would not find them. Start it with partitions: ${recorded}; to change the ` +
      'number, first empty the queue (ended jobs count too), or use a queue of another name.',
  );
}
