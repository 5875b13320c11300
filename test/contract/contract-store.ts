/** What a store brings to the contract suite, and the short words in which the suite speaks to it. */
import { afterEach, beforeEach } from '@jest/globals';
import { JOB_STATUSES, type EndedStatus, type FencingToken, type JobStatus } from '#lib/job/job.js';
import type { Outcome } from '#lib/job/outcome.js';
import type {
  ClaimedJob,
  JobCounts,
  JobRecord,
  JobStore,
  LaneCall,
  LaneReply,
  SettleReply,
  StatCounts,
  WorkerInfo,
} from '#lib/store/job-store.js';
import type {
  DedupRequest,
  EnqueueRefusal,
  EnqueueReply,
  IdempotencyRequest,
  JobKeys,
  NewJob,
} from '#lib/store/new-job.js';

export interface ContractStore {
  readonly store: JobStore;
  /** Moves the store's clock. Where that is impossible it lets the time pass, so keep it short. */
  advance(ms: number): Promise<void>;
  close(): Promise<void>;
}

export interface ContractOptions {
  /** How many ended jobs are kept, for how long; plenty where nothing is said. */
  readonly retention?: Partial<Record<EndedStatus, { readonly count: number; readonly ageMs: number }>>;
}

/** Brings an empty store. */
export type ContractFactory = (options: ContractOptions) => Promise<ContractStore>;

/** A lease that does not run out during a test, and a delay that does not pass. */
export const LONG_MS = 60_000;
/** A lease that has run out, or a delay that has passed, after `advance(PASSED_MS)`. */
export const SHORT_MS = 40;
export const PASSED_MS = 60;

export const ERROR = '{"name":"Error","message":"it failed"}';

/** One outcome of each kind, waiting long where it waits. */
export const OUTCOMES = {
  done: { kind: 'done', result: '{"ok":true}' },
  retry: { kind: 'retry', delayMs: LONG_MS, error: ERROR },
  dead: { kind: 'dead', reason: 'permanent_error', error: ERROR },
  cancelled: { kind: 'cancelled' },
  release: { kind: 'release' },
  snooze: { kind: 'snooze', delayMs: LONG_MS, error: ERROR },
} as const satisfies { readonly [K in Outcome['kind']]: Extract<Outcome, { readonly kind: K }> };

export function newJob(id: string, changes: Partial<NewJob> = {}): NewJob {
  const spec = `{"type":"test","payload":{"id":${JSON.stringify(id)}}}`;
  return { id, callerChosenId: true, spec, priority: 5, delayMs: 0, ...changes };
}

/** An idempotency key whose result is kept for long. */
export function once(key: string, changes: Partial<IdempotencyRequest> = {}): IdempotencyRequest {
  return { key, fingerprint: 'same', ttlMs: LONG_MS, ...changes };
}

/** A dedup key that is owned until the job ends. */
export function unique(key: string, changes: Partial<DedupRequest> = {}): DedupRequest {
  return { key, type: 'test', onDuplicate: 'return', keepWhenDead: false, ...changes };
}

export function worker(workerId: string): WorkerInfo {
  return { workerId, host: 'test', pid: 1, slots: 10 };
}

export class StoreDriver {
  private readonly lastNumbers = new Map<string, number>();

  constructor(private readonly contractStore: ContractStore) {}

  get store(): JobStore {
    return this.contractStore.store;
  }

  advance(ms: number): Promise<void> {
    return this.contractStore.advance(ms);
  }

  close(): Promise<void> {
    return this.contractStore.close();
  }

  async enqueue(
    id: string,
    changes: Partial<NewJob> = {},
  ): Promise<EnqueueReply | EnqueueRefusal | undefined> {
    const [reply] = await this.store.enqueue([newJob(id, changes)]);
    return reply;
  }

  async enqueueWith(keys: JobKeys, ...ids: string[]): Promise<void> {
    await this.store.enqueue(ids.map((id) => newJob(id, { keys })));
  }

  async enqueueAll(...ids: string[]): Promise<void> {
    await this.store.enqueue(ids.map((id) => newJob(id)));
  }

  /** The next call of a worker's lane; numbered on its own unless a number is given. */
  exchange(changes: Partial<LaneCall> = {}): Promise<LaneReply> {
    const { workerId = 'worker-1', lane = 0 } = changes;
    const key = `${workerId} ${lane}`;
    const number = changes.number ?? (this.lastNumbers.get(key) ?? 0) + 1;
    this.lastNumbers.set(key, number);
    const call = { settlements: [], claimMax: 0, leaseMs: LONG_MS, ...changes };
    return this.store.exchange({ ...call, workerId, lane, number });
  }

  async claim(claimMax = 10, changes: Partial<LaneCall> = {}): Promise<readonly ClaimedJob[]> {
    return (await this.exchange({ claimMax, ...changes })).claimed;
  }

  async claimIds(claimMax = 10): Promise<string[]> {
    return (await this.claim(claimMax)).map(({ jobId }) => jobId);
  }

  async claimOne(changes: Partial<LaneCall> = {}): Promise<ClaimedJob> {
    const [claimed] = await this.claim(1, changes);
    if (!claimed) throw new Error('there was nothing to claim');
    return claimed;
  }

  async settle(attempt: { jobId: string; token: FencingToken }, outcome: Outcome): Promise<SettleReply> {
    const { jobId, token } = attempt;
    const [reply] = (await this.exchange({ settlements: [{ jobId, token, outcome }] })).settled;
    if (!reply) throw new Error('a settlement was not answered');
    return reply;
  }

  /** Brings a new job to an end, or wherever else the outcome leads. */
  async run(id: string, outcome: Outcome): Promise<ClaimedJob> {
    await this.enqueue(id);
    const claimed = await this.claimOne();
    if (claimed.jobId !== id) throw new Error(`"${claimed.jobId}" was in front of "${id}"`);
    await this.settle(claimed, outcome);
    return claimed;
  }

  /** Claims and settles as done until nothing is ready; answers the ids in the order in which they ran. */
  async drain(): Promise<string[]> {
    const ran: string[] = [];
    for (;;) {
      const { claimed, blocked, replayed } = await this.exchange({ claimMax: 1, workerId: 'drain' });
      for (const attempt of claimed) await this.settle(attempt, OUTCOMES.done);
      ran.push(...claimed.map(({ jobId }) => jobId));
      if (claimed.length + blocked.length + replayed.length === 0) return ran;
    }
  }

  async statusOf(id: string): Promise<JobStatus | 'gone'> {
    return (await this.find(id))?.status ?? 'gone';
  }

  /** Every status in whose list the job stands: its own, and only once. */
  async whereListed(id: string): Promise<JobStatus[]> {
    const lists = await Promise.all(
      JOB_STATUSES.map(async (status) =>
        (await this.idsOf(status)).filter((one) => one === id).map(() => status),
      ),
    );
    return lists.flat();
  }

  async find(id: string): Promise<JobRecord | undefined> {
    const [record] = await this.store.read([id]);
    return record;
  }

  async read(id: string): Promise<JobRecord> {
    const record = await this.find(id);
    if (!record) throw new Error(`job "${id}" is gone`);
    return record;
  }

  /** The counts that are not 0. */
  async counts(): Promise<Partial<JobCounts>> {
    const { counts } = await this.store.snapshot();
    return Object.fromEntries(Object.entries(counts).filter(([, count]) => count !== 0));
  }

  async lifetime(): Promise<StatCounts> {
    return (await this.store.snapshot()).lifetime;
  }

  async idsOf(status: JobStatus): Promise<readonly string[]> {
    return (await this.store.list({ status, limit: 100, order: 'oldest' })).ids;
  }
}

/** A fresh store for each test of the surrounding `describe`. */
export function useStore(factory: ContractFactory, options: ContractOptions = {}): () => StoreDriver {
  let driver: StoreDriver | undefined;
  beforeEach(async () => {
    driver = new StoreDriver(await factory(options));
  });
  afterEach(async () => {
    await driver?.close();
    driver = undefined;
  });
  return () => {
    if (!driver) throw new Error('there is a store only while a test runs');
    return driver;
  };
}
