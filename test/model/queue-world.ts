/** One store of jobs under the commands of the model test. What it answers and shows is put so that any store can share it. */
import { SupersededCallError } from '#lib/errors/errors.js';
import { JOB_STATUSES, type FencingToken, type JobStatus } from '#lib/job/job.js';
import {
  STATS,
  type HeldLease,
  type JobRecord,
  type JobStore,
  type LaneCall,
  type LaneReply,
  type Settlement,
} from '#lib/store/job-store.js';
import type { NewJob } from '#lib/store/new-job.js';
import { LONG_MS, OUTCOMES, worker } from '../contract/contract-store.js';
import { FRESH, type AttemptChoice, type JobChoice, type JobCommand, type Lane } from './job-commands.js';
import type { World } from './model-run.js';

interface Attempt extends HeldLease {
  readonly workerId: string;
}

const NO_CALL = { settlements: [], claimMax: 0, leaseMs: LONG_MS };

/** What is not the store's. */
export interface Surroundings {
  readonly pass: (ms: number) => Promise<void>;
  /** Whether an idle worker that listens now is woken at once, if the model says so. The system is asked first. */
  readonly wasWokenIfNeeded: () => Promise<boolean>;
}

export class QueueWorld implements World<JobCommand> {
  /** All there were, in the order in which they were claimed: the same in every store. */
  private readonly attempts: Attempt[] = [];
  private running: readonly Attempt[] = [];
  private readonly jobIds = new Set<string>();
  private readonly lastCalls = new Map<string, LaneCall>();
  private lastEnqueued: readonly NewJob[] = [];
  private fresh = 0;

  constructor(
    private readonly store: JobStore,
    private readonly surroundings: Surroundings,
  ) {}

  mayRun(command: JobCommand): boolean {
    switch (command.name) {
      case 'settle':
      case 'checkpoint':
        return this.attempts.length > 0;
      case 'enqueue again':
        return this.lastEnqueued.length > 0;
      case 'call again':
        return this.lastCalls.has(nameOf(command.from));
      case 'call late':
        // Calls are numbered from 1.
        return (this.lastCalls.get(nameOf(command.from))?.number ?? 0) > 1;
      default:
        return true;
    }
  }

  async run(command: JobCommand): Promise<unknown> {
    const { store } = this;
    switch (command.name) {
      case 'enqueue':
        this.lastEnqueued = command.jobs.map((job) => this.numbered(job));
        for (const { id } of this.lastEnqueued) this.jobIds.add(id);
        return store.enqueue(this.lastEnqueued);
      case 'enqueue again':
        return store.enqueue(this.lastEnqueued);
      case 'claim': {
        const { claimMax, leaseMs } = command;
        return this.call(command.from, { claimMax, leaseMs });
      }
      case 'settle': {
        const { lane, claimMax, leaseMs } = command;
        const [first, ...others] = command.settlements.map(({ attempt, outcome }) => {
          const { jobId, token, workerId } = this.attemptOf(attempt);
          return { workerId, settlement: { jobId, token, outcome } };
        });
        if (!first) return undefined;
        const own = others.filter(({ workerId }) => workerId === first.workerId);
        const settlements = [first, ...own].map(({ settlement }) => settlement);
        const from = { worker: Number(first.workerId), lane };
        return this.call(from, { settlements, claimMax, leaseMs });
      }
      case 'call again': {
        const call = this.lastCalls.get(nameOf(command.from));
        const reply = call && (await this.exchange(call));
        return reply && this.describeRepeated(reply);
      }
      case 'call late': {
        const last = this.lastCalls.get(nameOf(command.from));
        if (!last) return undefined;
        const settlements = command.claimMax === 0 ? [this.settlementOf(command.attempt, last.workerId)] : [];
        const call = { ...last, settlements, claimMax: command.claimMax, number: last.number - 1 };
        const reply = await this.exchange(call);
        return reply && this.describeRepeated(reply);
      }
      case 'renew': {
        const [first, ...others] = this.attempts.length > 0 ? command.attempts : [];
        const attempts = first ? [first, ...others].map((choice) => this.attemptOf(choice)) : [];
        const workerId = attempts[0]?.workerId ?? `${command.worker}`;
        const leases = attempts.filter((attempt) => attempt.workerId === workerId);
        return store.renew(worker(workerId), leases, command.leaseMs);
      }
      case 'sign off':
        return store.signOff(`${command.worker}`);
      case 'checkpoint': {
        const { jobId, token } = this.attemptOf(command.attempt);
        const written = await store.writeCheckpoint(jobId, token, command.value);
        return { written, is: await store.readCheckpoint(jobId) };
      }
      case 'reap': {
        const { reaped, more } = await store.reap(command.silenceMs, command.limit);
        const lost = new Set(reaped.map(({ token }) => token));
        this.running = this.running.filter(({ token }) => !lost.has(token));
        return { more, reaped: reaped.map((lease) => ({ ...lease, token: this.numberOf(lease.token) })) };
      }
      case 'promote':
      case 'prune':
        return store[command.name](command.limit);
      case 'cancel':
      case 'remove':
      case 'redrive':
        return store[command.name](await this.choose(command.job));
      case 'pause':
      case 'resume':
        return store[command.name]();
      case 'count':
        return store.count('runaways', 1);
      case 'listen':
        return this.surroundings.wasWokenIfNeeded();
      case 'recent':
        return store.recent(STATS, command.windowMs);
      case 'page through':
        return this.pageThrough(command.status, command.limit, command.order);
      case 'pass':
        return this.surroundings.pass(command.ms);
      default:
        throw new Error('no such command');
    }
  }

  async look(): Promise<unknown> {
    const [records, snapshot, ...lists] = await Promise.all([
      this.store.read([...this.jobIds]),
      this.store.snapshot(),
      ...JOB_STATUSES.map((status) => this.idsOf(status)),
    ]);
    const described = records.map((record) => record && this.describe(record));
    return { records: described, lists, snapshot };
  }

  /** Brings every job to an end. Answers what is still pending although nothing keeps it from ending. */
  async finish(): Promise<unknown> {
    const { store } = this;
    const from = { worker: 0, lane: 2 };
    await store.resume();
    for (const id of [...(await this.idsOf('scheduled')), ...(await this.idsOf('retrying'))]) {
      await store.cancel(id);
    }
    const running = new Set(await this.idsOf('processing'));
    for (const { workerId, ...lease } of this.attempts.filter(({ jobId }) => running.has(jobId))) {
      const settlements = [{ ...lease, outcome: OUTCOMES.done }];
      await this.exchange(this.next({ worker: Number(workerId), lane: 2 }, { settlements }));
    }
    for (;;) {
      const reply = await this.exchange(this.next(from, { claimMax: 1 }));
      const { claimed, blocked, replayed } = reply ?? { claimed: [], blocked: [], replayed: [] };
      if (claimed.length + blocked.length + replayed.length === 0) break;
      const settlements = claimed.map(({ jobId, token }) => ({ jobId, token, outcome: OUTCOMES.done }));
      await this.exchange(this.next(from, { settlements }));
    }
    const { done: _, dead: __, cancelled: ___, ...pending } = (await store.snapshot()).counts;
    return pending;
  }

  /** Lets all that is kept for a time run out, and every worker leave. */
  async forget(ms: number, workers: number): Promise<void> {
    await this.surroundings.pass(ms);
    const dead = await this.idsOf('dead');
    for (const [i, id] of dead.entries()) if (i % 2 === 0) await this.store.remove(id);
    while ((await this.store.prune(100)) > 0);
    for (let i = 0; i < workers; i += 1) await this.store.signOff(`${i}`);
  }

  private numbered(job: NewJob): NewJob {
    return job.id === FRESH ? { ...job, id: `n${this.fresh++}` } : job;
  }

  private async call(from: Lane, changes: Partial<LaneCall>): Promise<unknown> {
    const reply = await this.exchange(this.next(from, changes));
    return reply && this.describeReply(reply);
  }

  private next(from: Lane, changes: Partial<LaneCall>): LaneCall {
    const name = nameOf(from);
    const number = (this.lastCalls.get(name)?.number ?? 0) + 1;
    const call = { ...NO_CALL, ...changes, workerId: `${from.worker}`, lane: from.lane, number };
    this.lastCalls.set(name, call);
    return call;
  }

  /** `undefined`: refused, for a later call was carried out. */
  private async exchange(call: LaneCall): Promise<LaneReply | undefined> {
    try {
      const reply = await this.store.exchange(call);
      this.note(call, reply);
      return reply;
    } catch (error) {
      if (error instanceof SupersededCallError) return undefined;
      throw error;
    }
  }

  private note({ workerId, settlements }: LaneCall, { settled, claimed }: LaneReply): void {
    const ended = new Set(settlements.filter((_, i) => settled[i]?.applied).map(({ token }) => token));
    const known = new Set(this.attempts.map(({ token }) => token));
    const started = claimed
      .filter(({ token }) => !known.has(token))
      .map(({ jobId, token }) => ({ jobId, token, workerId }));
    this.attempts.push(...started);
    this.running = [...this.running.filter(({ token }) => !ended.has(token)), ...started];
  }

  /** `more` is left out: a store may be unsure whether what stands in the queue still counts. */
  private describeReply(reply: LaneReply): object {
    const { claimed } = reply;
    return {
      ...reply,
      more: undefined,
      claimed: claimed.map((job) => ({ ...job, token: this.numberOf(job.token) })),
    };
  }

  /** What else there is to do may have changed since the first answer, and the worker will ask anyway. */
  private describeRepeated(reply: LaneReply): object {
    return { ...this.describeReply(reply), nextDueInMs: undefined };
  }

  private describe(record: JobRecord): unknown {
    return { ...record, token: this.numberOf(record.token) };
  }

  private async idsOf(status: JobStatus): Promise<readonly string[]> {
    return (await this.store.list({ status, limit: 100, order: 'oldest' })).ids;
  }

  private async pageThrough(status: JobStatus, limit: number, order: 'oldest' | 'newest'): Promise<string[]> {
    const found: string[] = [];
    for (let cursor: string | undefined = ''; cursor !== undefined;) {
      const page = await this.store.list({ status, limit, order, ...(cursor && { cursor }) });
      found.push(...page.ids);
      cursor = page.nextCursor;
    }
    return found;
  }

  private async choose({ status, at }: JobChoice): Promise<string> {
    const listed = await this.idsOf(status);
    const ids = listed.length > 0 ? listed : [...this.jobIds];
    return ids[at % Math.max(1, ids.length)] ?? 'nobody';
  }

  private attemptOf({ from, back }: AttemptChoice): Attempt {
    const preferred = from === 'running' ? this.running : this.stale();
    const attempts = preferred.length > 0 ? preferred : this.attempts;
    const attempt = attempts[attempts.length - 1 - (back % attempts.length)];
    if (!attempt) throw new Error('there was no attempt to choose from');
    return attempt;
  }

  private stale(): readonly Attempt[] {
    return this.attempts.filter((old) =>
      this.running.some(({ jobId, token }) => jobId === old.jobId && token !== old.token),
    );
  }

  /** A worker settles its own attempts only. */
  private settlementOf(choice: AttemptChoice, workerId: string): Settlement {
    const attempt = this.attempts.length > 0 ? this.attemptOf(choice) : undefined;
    const { jobId, token } = attempt?.workerId === workerId ? attempt : { jobId: 'nobody', token: 1 };
    return { jobId, token, outcome: OUTCOMES.done };
  }

  /** Two stores mint different tokens: what is compared is whose they are. */
  private numberOf(token: FencingToken | undefined): number | undefined {
    return token === undefined ? undefined : this.attempts.findIndex((attempt) => attempt.token === token);
  }
}

function nameOf({ worker: number, lane }: Lane): string {
  return `${number} ${lane}`;
}
