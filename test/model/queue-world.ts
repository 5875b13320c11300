/** One store under the commands of the model test. What it answers and shows is put in words that any store can share. */
import { JOB_STATUSES, type FencingToken, type JobStatus } from '#lib/job/job.js';
import type { JobRecord, JobStore, LaneCall, LaneReply, Settlement } from '#lib/store/job-store.js';
import { LONG_MS, OUTCOMES, worker } from '../contract/contract-store.js';
import type { AttemptChoice, Command, JobChoice } from './keys-commands.js';

interface Attempt {
  readonly jobId: string;
  readonly token: FencingToken;
  readonly workerId: string;
}

/** Where a command names an attempt and there was none yet. */
const NO_ATTEMPT: Attempt = { jobId: 'j0', token: 1, workerId: 'worker-0' };

export class QueueWorld {
  /** All there were, in the order in which they were claimed: the same in every store. */
  private readonly attempts: Attempt[] = [];
  private running: readonly Attempt[] = [];
  private readonly jobIds = new Set<string>();
  private calls = 0;

  constructor(private readonly store: JobStore) {}

  /** Carries a command out; what the store answered, without times. */
  async run(command: Command): Promise<unknown> {
    const { store } = this;
    switch (command.name) {
      case 'enqueue':
        for (const { id } of command.jobs) this.jobIds.add(id);
        return store.enqueue(command.jobs);
      case 'claim': {
        const { worker: n, max, leaseMs } = command;
        return this.toWords(await this.exchange(`worker-${n}`, { claimMax: max, leaseMs }));
      }
      case 'settle': {
        const settlements = command.settlements.map(({ attempt, outcome }): Settlement => {
          const { jobId, token } = this.attemptOf(attempt);
          return { jobId, token, outcome };
        });
        const { settled } = await this.exchange('worker-0', { settlements });
        const ended = new Set(settlements.filter((_, i) => settled[i]?.applied).map(({ token }) => token));
        this.running = this.running.filter(({ token }) => !ended.has(token));
        return settled;
      }
      case 'renew': {
        const lease = this.attemptOf(command.attempt);
        return store.renew(worker(lease.workerId), [lease], command.leaseMs);
      }
      case 'reap': {
        const { reaped, more } = await store.reap(LONG_MS, command.limit);
        const lost = new Set(reaped.map(({ token }) => token));
        this.running = this.running.filter(({ token }) => !lost.has(token));
        return { more, reaped: reaped.map((lease) => ({ ...lease, token: this.nameOf(lease.token) })) };
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
        await store[command.name]();
    }
    return undefined;
  }

  /** Everything that can be seen, without times. */
  async look(): Promise<unknown> {
    const [records, snapshot, ...lists] = await Promise.all([
      this.store.read([...this.jobIds]),
      this.store.snapshot(),
      ...JOB_STATUSES.map((status) => this.idsOf(status)),
    ]);
    return {
      records: records.map((record) => record && this.describe(record)),
      lists: Object.fromEntries(JOB_STATUSES.map((status, i) => [status, lists[i]])),
      counts: snapshot.counts,
      lifetime: snapshot.lifetime,
      paused: snapshot.paused,
    };
  }

  /** Brings every job to an end. Answers what is still pending although nothing keeps it from ending. */
  async finish(): Promise<unknown> {
    const { store } = this;
    await store.resume();
    for (const id of [...(await this.idsOf('scheduled')), ...(await this.idsOf('retrying'))]) {
      await store.cancel(id);
    }
    const running = new Set(await this.idsOf('processing'));
    const settlements = this.attempts
      .filter(({ jobId }) => running.has(jobId))
      .map(({ jobId, token }) => ({ jobId, token, outcome: OUTCOMES.done }));
    await this.exchange('worker-0', { settlements });
    for (;;) {
      const { claimed, blocked, replayed } = await this.exchange('worker-0', { claimMax: 1 });
      if (claimed.length + blocked.length + replayed.length === 0) break;
      const done = claimed.map(({ jobId, token }) => ({ jobId, token, outcome: OUTCOMES.done }));
      await this.exchange('worker-0', { settlements: done });
    }
    const { scheduled, queued, blocked, processing, retrying } = (await store.snapshot()).counts;
    for (const id of await this.idsOf('dead')) await store.remove(id);
    return { scheduled, queued, blocked, processing, retrying };
  }

  private async exchange(workerId: string, changes: Partial<LaneCall>): Promise<LaneReply> {
    this.calls += 1;
    const call = { lane: 0, number: this.calls, settlements: [], claimMax: 0, leaseMs: LONG_MS, ...changes };
    const reply = await this.store.exchange({ ...call, workerId });
    const claimed = reply.claimed.map(({ jobId, token }) => ({ jobId, token, workerId }));
    this.attempts.push(...claimed);
    this.running = [...this.running, ...claimed];
    return reply;
  }

  /** `more` is left out: a store may be unsure whether what stands in the queue still counts. */
  private toWords({ claimed, blocked, replayed, nextDueInMs }: LaneReply): unknown {
    return {
      claimed: claimed.map(({ jobId, token, attempt, spec, firstRefusedAt }) => ({
        ...{ jobId, attempt, token: this.nameOf(token), spec: withoutTime(spec) },
        wasRefused: firstRefusedAt !== undefined,
      })),
      blocked,
      replayed,
      anyDue: nextDueInMs !== undefined,
    };
  }

  private describe(record: JobRecord): unknown {
    const { startedAt, updatedAt, dueAt, leaseExpiresAt } = record;
    const times = { startedAt, updatedAt, dueAt, leaseExpiresAt };
    return {
      ...record,
      spec: withoutTime(record.spec),
      error: withoutTime(record.error),
      token: this.nameOf(record.token),
      ...Object.fromEntries(Object.entries(times).map(([name, time]) => [name, time !== undefined])),
    };
  }

  private async idsOf(status: JobStatus): Promise<readonly string[]> {
    return (await this.store.list({ status, limit: 100, order: 'oldest' })).ids;
  }

  private async choose({ status, at }: JobChoice): Promise<string> {
    const ids = await this.idsOf(status);
    return ids[at % Math.max(1, ids.length)] ?? 'nobody';
  }

  private attemptOf({ from, back }: AttemptChoice): Attempt {
    const attempts = from === 'running' ? this.running : this.attempts;
    return attempts[attempts.length - 1 - (back % Math.max(1, attempts.length))] ?? NO_ATTEMPT;
  }

  private nameOf(token: FencingToken | undefined): string | undefined {
    if (token === undefined) return undefined;
    return `attempt ${this.attempts.findIndex((attempt) => attempt.token === token)}`;
  }
}

/** Of a stored text the part that a caller wrote. */
function withoutTime(json: string | undefined): string | undefined {
  return json?.replace(/^\{"(created_at|at)":\d+/, '{"$1":0');
}
