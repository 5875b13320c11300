/** Typed bindings of the scripts that workers and maintenance run: what goes in as ARGV, what a reply means. */
import { IncompatibleStoreError, SupersededCallError } from '../../errors/errors.js';
import { JOB_STATUSES, type EndedStatus, type JobStatus } from '../../job/job.js';
import type { Outcome } from '../../job/outcome.js';
import { INTERNAL } from '../../options/defaults.js';
import type { Retention } from '../../options/options.js';
import type {
  ClaimedJob,
  HeldLease,
  LaneCall,
  LaneReply,
  PromoteReply,
  ReapedLease,
  ReapReply,
  RenewReply,
  SettleReply,
  WorkerInfo,
} from '../job-store.js';
import type { ScriptRunner } from './script-runner.js';

export type QueueRetention = Readonly<Record<EndedStatus, Retention>>;

type Claim = Omit<LaneReply, 'settled'>;
export const NOTHING_CLAIMED: Claim = {
  claimed: [],
  blocked: [],
  replayed: [],
  more: false,
  nextDueInMs: undefined,
  now: undefined,
};

const CLAIM_HEADER = 5;
const CLAIM_STRIDE = 4;

export async function claim(runner: ScriptRunner, call: LaneCall, retention: QueueRetention): Promise<Claim> {
  const { workerId, lane, number, claimMax, leaseMs } = call;
  const args = [workerId, lane, number, claimMax, leaseMs, retention.done.count];
  try {
    return toClaim(await numbered(call, runner.run('claim', args)));
  } catch (error) {
    if (!startsWith(error, 'REPEATED')) throw error;
    return toClaim(await runner.run('claim-again', [workerId, lane, number, leaseMs]));
  }
}

function toClaim(scriptReply: unknown): Claim {
  const [, , , blocked, replayed] = arrays(scriptReply);
  const reply = strings(scriptReply);
  const claimed: ClaimedJob[] = [];
  for (let i = CLAIM_HEADER; i < reply.length; i += CLAIM_STRIDE) {
    const attempt = reply[i + 2] ?? '';
    const refused = attempt.indexOf(' ');
    claimed.push({
      jobId: reply[i] ?? '',
      token: Number(reply[i + 1]),
      attempt: Number(refused < 0 ? attempt : attempt.slice(0, refused)),
      firstRefusedAt: refused < 0 ? undefined : Number(attempt.slice(refused)),
      spec: reply[i + 3] ?? '',
    });
  }
  const nextDueInMs = Number(reply[2]);
  return {
    claimed,
    blocked: strings(blocked),
    replayed: strings(replayed),
    more: reply[1] === '1',
    nextDueInMs: nextDueInMs < 0 ? undefined : nextDueInMs,
    now: Number(reply[0]),
  };
}

const SETTLE_STRIDE = 4;

export async function settle(
  runner: ScriptRunner,
  call: LaneCall,
  retention: QueueRetention,
): Promise<SettleReply[]> {
  const { workerId, lane, number, settlements, endedClaims = [] } = call;
  const { done, dead, cancelled } = retention;
  const args: (string | number)[] = [workerId, lane, number, done.count, dead.count, cancelled.count];
  args.push(endedClaims.join(' '));
  const settled: SettleReply[] = [];
  for (const { jobId, token, outcome } of settlements) {
    args.push(jobId, token, outcomeText(outcome));
    settled.push({ applied: true, status: STATUS_AFTER[outcome.kind] });
  }
  const exceptions = strings(await numbered(call, runner.run('settle', args)));
  for (let i = 0; i < exceptions.length; i += SETTLE_STRIDE) {
    settled[Number(exceptions[i])] =
      exceptions[i + 1] === 'cancelled'
        ? { applied: true, status: 'cancelled' }
        : {
            applied: false,
            status: optionalStatus(exceptions[i + 2]),
            holder: exceptions[i + 3] || undefined,
          };
  }
  return settled;
}

const STATUS_AFTER: Readonly<Record<Outcome['kind'], JobStatus>> = {
  done: 'done',
  retry: 'retrying',
  dead: 'dead',
  cancelled: 'cancelled',
  release: 'queued',
  snooze: 'scheduled',
};

/** As settle.lua reads it; nothing for what nearly every job ends with. */
function outcomeText(outcome: Outcome): string {
  switch (outcome.kind) {
    case 'done':
      return outcome.result === undefined ? '' : `done - ${outcome.result}`;
    case 'retry':
    case 'snooze':
      return `${outcome.kind} ${outcome.delayMs} ${outcome.error}`;
    case 'dead':
      return `dead ${outcome.reason} ${outcome.error}`;
    default:
      return `${outcome.kind} - `;
  }
}

export async function renew(
  runner: ScriptRunner,
  worker: WorkerInfo,
  leases: readonly HeldLease[],
  leaseMs: number,
): Promise<RenewReply> {
  const args: (string | number)[] = [worker.workerId, leaseMs, worker.host, worker.pid, worker.slots];
  for (const { jobId, token } of leases) args.push(jobId, token);
  try {
    const [lost, cancelRequested] = arrays(await runner.run('renew', args));
    return { lost: strings(lost), cancelRequested: strings(cancelRequested) };
  } catch (error) {
    if (startsWith(error, 'PARTITIONED')) {
      const partitions = messageOf(error).split(' ')[1];
      throw new IncompatibleStoreError(
        `This queue is spread over ${partitions} partitions; this process was started with partitions: 1. ` +
          'Start all processes of the queue with the same number.',
        { cause: error },
      );
    }
    if (!startsWith(error, 'LAYOUT')) throw error;
    throw new IncompatibleStoreError(
      `The keys of this queue were laid out by another version of Fenceline (${messageOf(error)}). ` +
        'Use a version that reads it, or another prefix.',
      { cause: error },
    );
  }
}

const REAP_HEADER = 2;
const REAP_STRIDE = 5;

export async function reap(
  runner: ScriptRunner,
  silenceMs: number,
  limit: number,
  retention: QueueRetention,
): Promise<ReapReply> {
  const args = [silenceMs, limit, INTERNAL.forgetWorkerMs, retention.cancelled.count];
  const reply = strings(await runner.run('reap', args));
  // What was reaped must be told, whatever becomes of this; the next reap does it again.
  if (reply[1] === '1') await runner.run('free-waiters', [INTERNAL.blockedLookedAt]).catch(() => {});
  const reaped: ReapedLease[] = [];
  for (let i = REAP_HEADER; i < reply.length; i += REAP_STRIDE) {
    reaped.push({
      jobId: reply[i] ?? '',
      attempt: Number(reply[i + 1]),
      token: optionalNumber(reply[i + 2]),
      workerId: reply[i + 3] || undefined,
      status: optionalStatus(reply[i + 4]) ?? 'queued',
    });
  }
  return { reaped, more: reply[0] === '1' };
}

export async function promote(runner: ScriptRunner, limit: number): Promise<PromoteReply> {
  const [promoted, more] = strings(await runner.run('promote', [limit]));
  return { promoted: Number(promoted), more: more === '1' };
}

export async function prune(runner: ScriptRunner, retention: QueueRetention, limit: number): Promise<number> {
  const { done, dead, cancelled } = retention;
  const kept = [done, dead, cancelled].flatMap(({ count, ageMs }) => [count, ageMs]);
  return Number(await runner.run('prune', [limit, ...kept]));
}

/** Turns the scripts' refusal of an outdated number into its typed error. */
async function numbered(call: LaneCall, reply: Promise<unknown>): Promise<unknown> {
  try {
    return await reply;
  } catch (error) {
    if (!startsWith(error, 'SUPERSEDED')) throw error;
    throw new SupersededCallError(call.workerId, call.lane, call.number);
  }
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
const startsWith = (error: unknown, code: string): boolean => messageOf(error).startsWith(code);

/** A flat script reply: Redis sends numbers as integers and the rest as strings; here all are strings. */
export function strings(reply: unknown): string[] {
  return arrays(reply).map((value) =>
    typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '',
  );
}

export function arrays(reply: unknown): unknown[] {
  // An empty Lua table that was once encoded as JSON comes back as an empty object; both mean "none".
  return Array.isArray(reply) ? reply : [];
}

export function optionalNumber(value: string | undefined): number | undefined {
  return value === undefined || value === '' ? undefined : Number(value);
}

export function optionalStatus(value: string | undefined): JobStatus | undefined {
  return isStatus(value) ? value : undefined;
}

function isStatus(value: string | undefined): value is JobStatus {
  return value !== undefined && (JOB_STATUSES as readonly string[]).includes(value);
}
