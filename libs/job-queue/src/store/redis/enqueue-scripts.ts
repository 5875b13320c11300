/** Typed bindings of the two scripts that store jobs. */
import type { EnqueueRefusal, EnqueueReply, NewJob } from '../new-job.js';
import type { ScriptRunner } from './script-runner.js';
import { optionalStatus, strings } from './worker-scripts.js';

/** Jobs without keys: the hot path. Only the duplicates are answered by the script. */
export async function enqueuePlain(runner: ScriptRunner, jobs: readonly NewJob[]): Promise<EnqueueReply[]> {
  const args: (string | number)[] = [];
  const replies: EnqueueReply[] = [];
  let placement = '';
  let sizeAt = 0;
  for (const { id, callerChosenId, priority, delayMs, spec } of jobs) {
    const own = `${callerChosenId ? 1 : 0} ${priority} ${delayMs}`;
    if (own !== placement) {
      placement = own;
      args.push(placement, 0);
      sizeAt = args.length - 1;
    }
    args[sizeAt] = Number(args[sizeAt]) + 1;
    args.push(id, spec.slice(1));
    replies.push({ jobId: id, status: delayMs > 0 ? 'scheduled' : 'queued', duplicate: false });
  }
  const duplicates = strings(await runner.run('enqueue', args));
  for (let i = 0; i < duplicates.length; i += 2) {
    const index = Number(duplicates[i]);
    const status = optionalStatus(duplicates[i + 1]) ?? 'queued';
    replies[index] = { jobId: jobs[index]?.id ?? '', status, duplicate: true };
  }
  return replies;
}

const REPLY_STRIDE = 3;
const REFUSALS = {
  refused_duplicate: 'duplicate',
  refused_dedup_type: 'dedup_type',
  refused_idempotency: 'idempotency_conflict',
} as const satisfies Record<string, EnqueueRefusal['refused']>;

export async function enqueueKeyed(
  runner: ScriptRunner,
  jobs: readonly NewJob[],
): Promise<(EnqueueReply | EnqueueRefusal)[]> {
  const reply = strings(await runner.run('enqueue-keyed', jobs.flatMap(toArguments)));
  return jobs.map(({ id }, i) => {
    const [kind = '', jobId = '', status] = reply.slice(i * REPLY_STRIDE, (i + 1) * REPLY_STRIDE);
    if (isRefusal(kind)) return { jobId: id, refused: REFUSALS[kind], holder: jobId || undefined };
    return {
      jobId,
      // An owner that is gone although its window is not has ended.
      status: optionalStatus(status) ?? 'done',
      duplicate: kind === 'duplicate' || kind === 'replaced',
      ...(kind === 'replaced' ? { replaced: true } : {}),
    };
  });
}

function toArguments({
  id,
  callerChosenId,
  priority,
  delayMs,
  spec,
  keys = {},
}: NewJob): (string | number)[] {
  const { resource = '', idempotency, dedup } = keys;
  return [
    ...[id, callerChosenId ? 1 : 0, priority, delayMs, spec, resource],
    ...(idempotency ? [idempotency.key, idempotency.fingerprint, idempotency.ttlMs] : ['', '', '']),
    ...(dedup
      ? [dedup.key, dedup.type, dedup.onDuplicate, dedup.windowMs ?? '', dedup.keepWhenDead ? 1 : '']
      : ['', '', '', '', '']),
  ];
}

function isRefusal(kind: string): kind is keyof typeof REFUSALS {
  return Object.hasOwn(REFUSALS, kind);
}
