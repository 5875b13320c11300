/**
 * A queue that is spread over partitions, each a job store of its own: so that a cluster shares its work. Whatever
 * concerns one job goes to its partition, whatever concerns the queue to all of them.
 */
import { EnqueueRefusedError, EnqueueUnknownError } from '../errors/errors.js';
import { INTERNAL } from '../options/defaults.js';
import type {
  HeldLease,
  JobPage,
  JobRecord,
  JobStore,
  LaneCall,
  LaneReply,
  ListQuery,
  PromoteReply,
  QueueMark,
  QueueSnapshot,
  ReapReply,
  RenewReply,
  SettleReply,
  Stat,
  TransitionReply,
  WakeListener,
  WorkerInfo,
} from './job-store.js';
import type { EnqueueRefusal, EnqueueReply, NewJob } from './new-job.js';
import { PartitionClaims } from './partition-claims.js';
import { joinMarks, listPartitions, sumOf, sumSnapshots } from './partition-fan-in.js';
import { PartitionMap } from './partition-map.js';
import { PartitionWakeListener } from './partition-wake-listener.js';

export interface PartitionedJobStoreOptions {
  /** For how long a partition that had no work is taken to have none, ms, unless something says otherwise. */
  readonly emptyForMs: number;
}

export class PartitionedJobStore implements JobStore {
  private readonly map: PartitionMap;
  private readonly claims: PartitionClaims;
  private lastWoken = 0;

  constructor(
    private readonly partitions: readonly JobStore[],
    { emptyForMs }: PartitionedJobStoreOptions = { emptyForMs: INTERNAL.partitionEmptyForMs },
  ) {
    this.map = new PartitionMap(partitions.length);
    this.claims = new PartitionClaims(partitions, this.map, emptyForMs);
  }

  /** Jobs of one partition are stored all or none. The queue hands over such only, see EnqueueBatcher. */
  async enqueue(jobs: readonly NewJob[]): Promise<readonly (EnqueueReply | EnqueueRefusal)[]> {
    const parts = [...this.map.split(jobs, (job) => this.map.ofNew(job))];
    const results = await Promise.allSettled(
      parts.map(async ([partition, { items }]) => this.at(partition).enqueue(items)),
    );
    const replies: (EnqueueReply | EnqueueRefusal)[] = [];
    const errors: unknown[] = [];
    for (const [i, result] of results.entries()) {
      if (result.status === 'rejected') errors.push(result.reason);
      else parts[i]?.[1].places.forEach((place, j) => (replies[place] = result.value[j] as EnqueueReply));
    }
    if (errors.length === 0) return replies;
    const nothingStored =
      errors.length === parts.length && errors.every((error) => error instanceof EnqueueRefusedError);
    if (nothingStored || parts.length === 1) throw errors[0];
    throw new EnqueueUnknownError(jobs[0]?.id ?? '', { cause: errors[0] });
  }

  async exchange(call: LaneCall): Promise<LaneReply> {
    this.map.keepFor(2 * call.leaseMs);
    const reply = await this.claims.exchange(call);
    const settled = reply.settled.map((one, i) => this.withStatus(call.settlements[i]?.jobId ?? '', one));
    return { ...reply, settled: await Promise.all(settled) };
  }

  /** A partition that does not answer leaves its leases as they are, and takes nothing from those of the others. */
  async renew(worker: WorkerInfo, leases: readonly HeldLease[], leaseMs: number): Promise<RenewReply> {
    const parts = this.map.split(leases, ({ jobId }) => this.map.ofId(jobId));
    const results = await Promise.allSettled(
      this.partitions.map((store, i) => store.renew(worker, parts.get(i)?.items ?? [], leaseMs)),
    );
    const answered = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    const failed = results.findIndex(({ status }) => status === 'rejected');
    if (failed >= 0 && (leases.length === 0 || answered.length === 0)) throw reasonOf(results[failed]);
    const unanswered = results.flatMap(({ status }, i) =>
      status === 'rejected' ? (parts.get(i)?.items ?? []).map(({ jobId }) => jobId) : [],
    );
    return {
      lost: answered.flatMap(({ lost }) => lost),
      cancelRequested: answered.flatMap(({ cancelRequested }) => cancelRequested),
      ...(unanswered.length === 0 ? {} : { unanswered }),
    };
  }

  async signOff(workerId: string): Promise<void> {
    this.claims.forget(workerId);
    await this.everywhere((store) => store.signOff(workerId));
  }

  async reap(leaseMs: number, limit: number): Promise<ReapReply> {
    const replies = await this.whereverPossible((store) => store.reap(leaseMs, limit));
    return { reaped: replies.flatMap(({ reaped }) => reaped), more: replies.some(({ more }) => more) };
  }

  async promote(limit: number): Promise<PromoteReply> {
    const replies = await this.whereverPossible((store) => store.promote(limit));
    return { promoted: sumOf(replies, ({ promoted }) => promoted), more: replies.some(({ more }) => more) };
  }

  async prune(limit: number): Promise<number> {
    let deleted = 0;
    for (const store of this.partitions) deleted += await store.prune(limit - deleted);
    return deleted;
  }

  cancel(jobId: string): Promise<TransitionReply> {
    return this.find(jobId, (store) => store.cancel(jobId), isFound);
  }

  remove(jobId: string): Promise<TransitionReply> {
    return this.find(jobId, (store) => store.remove(jobId), isFound);
  }

  redrive(jobId: string): Promise<TransitionReply> {
    return this.find(jobId, (store) => store.redrive(jobId), isFound);
  }

  async pause(): Promise<void> {
    await this.everywhere((store) => store.pause());
  }

  async resume(): Promise<void> {
    await this.everywhere((store) => store.resume());
  }

  async read(jobIds: readonly string[]): Promise<readonly (JobRecord | undefined)[]> {
    const records: (JobRecord | undefined)[] = jobIds.map(() => undefined);
    const readAt = async (partition: number, ids: readonly string[], places: readonly number[]) => {
      const found = ids.length === 0 ? [] : await this.at(partition).read(ids);
      found.forEach((record, i) => (records[places[i] ?? 0] ??= record));
    };
    const homes = this.map.split(jobIds, (id) => this.map.ofId(id));
    await Promise.all([...homes].map(([home, { items, places }]) => readAt(home, items, places)));
    // An id that its caller chose may have followed a key of its job.
    const missing = jobIds.flatMap((id, i) => (records[i] || this.map.isCertain(id) ? [] : [i]));
    const ids = missing.map((place) => jobIds[place] ?? '');
    if (missing.length > 0) await Promise.all(this.partitions.map((_, i) => readAt(i, ids, missing)));
    return records;
  }

  list(query: ListQuery): Promise<JobPage> {
    return listPartitions(this.partitions, query);
  }

  async snapshot(): Promise<QueueSnapshot> {
    return sumSnapshots(await this.everywhere((store) => store.snapshot()));
  }

  async mark(): Promise<QueueMark> {
    return joinMarks(await this.everywhere((store) => store.mark()));
  }

  async recent(stats: readonly Stat[], windowMs: number): Promise<Readonly<Partial<Record<Stat, number>>>> {
    const sums = await this.everywhere((store) => store.recent(stats, windowMs));
    return Object.fromEntries(stats.map((stat) => [stat, sumOf(sums, (counts) => counts[stat] ?? 0)]));
  }

  async count(stat: 'runaways', amount: number): Promise<void> {
    await this.at(0).count(stat, amount);
  }

  readCheckpoint(jobId: string): Promise<string | undefined> {
    return this.find(
      jobId,
      (store) => store.readCheckpoint(jobId),
      (checkpoint) => checkpoint !== undefined,
    );
  }

  writeCheckpoint(jobId: string, token: number, value: string): Promise<boolean> {
    return this.find(
      jobId,
      (store) => store.writeCheckpoint(jobId, token, value),
      (isWritten) => isWritten,
    );
  }

  /** A job that is not held by the one who settles it, and not known where its id belongs, may be elsewhere. */
  private async withStatus(jobId: string, reply: SettleReply): Promise<SettleReply> {
    if (reply.applied || reply.status !== undefined || this.map.isCertain(jobId)) return reply;
    const [record] = await this.read([jobId]);
    const holder = record?.status === 'processing' ? record.workerId : undefined;
    return { applied: false, status: record?.status, holder };
  }

  listenForWork(): WakeListener {
    return new PartitionWakeListener(this.partitions, (partition) => {
      this.lastWoken = partition;
      this.claims.noteWoken(partition);
    });
  }

  async wake(): Promise<void> {
    await this.at(this.lastWoken).wake();
  }

  private at(partition: number): JobStore {
    const store = this.partitions[partition];
    if (!store) throw new RangeError(`there is no partition ${partition}`);
    return store;
  }

  private everywhere<T>(ask: (store: JobStore) => Promise<T>): Promise<T[]> {
    return Promise.all(this.partitions.map(ask));
  }

  /** For upkeep: what one partition cannot do now, the others need not wait for. */
  private async whereverPossible<T>(ask: (store: JobStore) => Promise<T>): Promise<T[]> {
    const results = await Promise.allSettled(this.partitions.map(ask));
    const replies = results.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : []));
    if (replies.length === 0) throw reasonOf(results[0]);
    return replies;
  }

  /** Where the id belongs, and if the job is not there and may be elsewhere, in the other partitions. */
  private async find<T>(
    jobId: string,
    ask: (store: JobStore) => Promise<T>,
    isHit: (reply: T) => boolean,
  ): Promise<T> {
    const home = this.map.ofId(jobId);
    const reply = await ask(this.at(home));
    if (isHit(reply) || this.map.isCertain(jobId)) return reply;
    const others = await Promise.all(this.partitions.filter((_, i) => i !== home).map(ask));
    return others.find(isHit) ?? reply;
  }
}

const isFound = ({ kind }: TransitionReply): boolean => kind !== 'not_found';

function reasonOf(result: PromiseSettledResult<unknown> | undefined): unknown {
  return result?.status === 'rejected' ? result.reason : undefined;
}
