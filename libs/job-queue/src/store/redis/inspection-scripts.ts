/** Typed bindings of the scripts that look at jobs and move them by hand. */
import { InvalidOptionError } from '../../errors/errors.js';
import type { JobStatus } from '../../job/job.js';
import {
  STATS,
  type JobPage,
  type JobRecord,
  type ListQuery,
  type QueueMark,
  type QueueSnapshot,
  type Stat,
  type StatCounts,
  type TransitionReply,
} from '../job-store.js';
import { minutesOf } from '../stat-window.js';
import type { ScriptRunner } from './script-runner.js';
import { arrays, optionalNumber, optionalStatus, strings } from './worker-scripts.js';

export async function transition(
  runner: ScriptRunner,
  script: 'cancel' | 'remove' | 'redrive',
  args: readonly (string | number)[],
): Promise<TransitionReply> {
  const [kind, status, holder] = strings(await runner.run(script, args));
  const known = optionalStatus(status);
  if (kind === 'key_taken') {
    return { kind, key: status === 'dedup' ? 'dedup' : 'idempotency', holder: holder || undefined };
  }
  if (kind === 'requested') return { kind };
  if ((kind === 'moved' || kind === 'illegal') && known) {
    return kind === 'moved' ? { kind, from: known } : { kind, status: known };
  }
  return { kind: 'not_found' };
}

export async function read(
  runner: ScriptRunner,
  jobIds: readonly string[],
): Promise<(JobRecord | undefined)[]> {
  const reply = arrays(await runner.run('read', jobIds));
  return jobIds.map((id, i) => (Array.isArray(reply[i]) ? toRecord(id, reply[i]) : undefined));
}

function toRecord(id: string, reply: readonly unknown[]): JobRecord {
  const [status, spec, , result, error, dueAt, leaseExpiresAt] = strings(reply);
  const run = fields(reply[2]);
  const known = optionalStatus(status) ?? 'queued';
  return {
    id,
    status: known,
    spec: spec || undefined,
    priority: Number(run.get('priority') ?? 5),
    attempt: Number(run.get('attempt') ?? 0),
    token: optionalNumber(run.get('fencing_token')),
    workerId: run.get('worker_id'),
    startedAt: optionalNumber(run.get('started_at')),
    updatedAt: optionalNumber(run.get(known === 'processing' ? 'started_at' : 'updated_at')),
    dueAt: known === 'scheduled' || known === 'retrying' ? optionalNumber(dueAt) : undefined,
    leaseExpiresAt: known === 'processing' ? optionalNumber(leaseExpiresAt) : undefined,
    deadReason: run.get('dead_reason'),
    redriveCount: Number(run.get('redrive_count') ?? 0),
    attemptsBeforeRedrive: Number(run.get('attempts_before_redrive') ?? 0),
    cancelRequested: run.has('cancel_requested_at'),
    resourceKey: run.get('resource_key'),
    idempotencyKey: run.get('idempotency_key'),
    dedupKey: run.get('dedup_key'),
    blockedOn: known === 'blocked' ? run.get('blocked_on') : undefined,
    result: result || undefined,
    error: error || undefined,
  };
}

const INDEX_OF: Readonly<Record<Exclude<JobStatus, 'queued'>, string>> = {
  scheduled: 'scheduled',
  blocked: 'blocked',
  processing: 'processing',
  retrying: 'retry',
  done: 'done',
  dead: 'dead',
  cancelled: 'cancelled',
};

/** A cursor is `<score>:<id>` in a time-ordered index and `<priority>:<position>` among queued jobs. */
export async function list(runner: ScriptRunner, query: ListQuery): Promise<JobPage> {
  const { status, limit, order, cursor } = query;
  const [head, tail] = splitCursor(cursor);
  if (status === 'queued') {
    const [priority, position, ...ids] = strings(
      await runner.run('list-queued', [limit, head || '0', tail || '0']),
    );
    return { ids, nextCursor: priority ? `${priority}:${position}` : undefined };
  }
  const page = strings(await runner.run('list-index', [INDEX_OF[status], order, limit, head, tail]));
  const ids = page.filter((_, i) => i % 2 === 0);
  const times = page.filter((_, i) => i % 2 === 1).map(Number);
  const isFull = ids.length === limit;
  return { ids, times, nextCursor: isFull ? `${page.at(-1)}:${ids.at(-1)}` : undefined };
}

function splitCursor(cursor: string | undefined): [head: string, tail: string] {
  if (cursor === undefined) return ['', ''];
  const parts = /^(\d+):(.+)$/s.exec(cursor);
  if (!parts) throw new InvalidOptionError('cursor', cursor, 'must be the nextCursor of an earlier page');
  return [parts[1] ?? '', parts[2] ?? ''];
}

export async function snapshot(runner: ScriptRunner): Promise<QueueSnapshot> {
  const reply = arrays(await runner.run('snapshot', []));
  const [scheduled, queued, blocked, processing, retrying, done, dead, cancelled, paused, oldestReadyAgeMs] =
    reply.map(Number);
  const counters = fields(reply[10]);
  return {
    counts: {
      scheduled: scheduled ?? 0,
      queued: queued ?? 0,
      blocked: blocked ?? 0,
      processing: processing ?? 0,
      retrying: retrying ?? 0,
      done: done ?? 0,
      dead: dead ?? 0,
      cancelled: cancelled ?? 0,
    },
    paused: paused === 1,
    oldestReadyAgeMs: oldestReadyAgeMs ?? 0,
    lifetime: Object.fromEntries(STATS.map((stat) => [stat, Number(counters.get(stat) ?? 0)])) as StatCounts,
  };
}

export async function mark(runner: ScriptRunner): Promise<QueueMark> {
  const [createdAt, counted] = strings(await runner.run('mark', []));
  return { createdAt: createdAt ? Number(createdAt) : undefined, counted: Number(counted) };
}

export async function recent(
  runner: ScriptRunner,
  stats: readonly Stat[],
  windowMs: number,
): Promise<Partial<Record<Stat, number>>> {
  const sums = arrays(await runner.run('recent', [minutesOf(windowMs), ...stats]));
  return Object.fromEntries(stats.map((stat, i) => [stat, Number(sums[i])]));
}

function fields(reply: unknown): Map<string, string> {
  const flat = strings(reply);
  const map = new Map<string, string>();
  for (let i = 0; i + 1 < flat.length; i += 2) map.set(flat[i] ?? '', flat[i + 1] ?? '');
  return map;
}
