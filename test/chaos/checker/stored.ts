/** Reads the final state as the document of Redis's keys describes it, without a line of the product. */
import type { KeyValue, StoredKey } from '../world/final-state.js';
import type { Evidence } from './evidence.js';

const QUEUE = '{jobs}:';

export const INDEXES = {
  processing: 'processing',
  scheduled: 'scheduled',
  retry: 'retrying',
  blocked: 'blocked',
  done: 'done',
  dead: 'dead',
  cancelled: 'cancelled',
} as const;
export const ENDED: readonly string[] = ['done', 'dead', 'cancelled'];

/** Kinds of keys that belong to one job and must not outlive it. */
export const JOB_PARTS = ['run', 'result', 'error', 'checkpoint'] as const;

export interface StoredJob {
  readonly id: string;
  readonly run: Readonly<Record<string, string>>;
  readonly result: string | undefined;
}

/** Key of the queue, without what all its keys start with. */
export function queueKey({ final }: Evidence, name: string): StoredKey | undefined {
  return final[QUEUE + name];
}

/** [rest of the name, value] of all keys of the queue whose name starts so. */
export function queueKeys({ final }: Evidence, prefix = ''): readonly (readonly [string, StoredKey])[] {
  const start = QUEUE + prefix;
  return Object.entries(final)
    .filter(([key]) => key.startsWith(start))
    .map(([key, value]) => [key.slice(start.length), value] as const);
}

export function jobsOf(evidence: Evidence): ReadonlyMap<string, StoredJob> {
  const jobs = new Map<string, StoredJob>();
  for (const [id] of queueKeys(evidence, 'job:')) {
    const result = queueKey(evidence, `result:${id}`);
    jobs.set(id, {
      id,
      run: fieldsOf(queueKey(evidence, `run:${id}`)),
      result: result?.type === 'string' ? result.text : undefined,
    });
  }
  return jobs;
}

export function fieldsOf(value: KeyValue | undefined): Readonly<Record<string, string>> {
  return value?.type === 'hash' ? value.fields : {};
}

/** Status → ids that stand in the place for it, as often as they do. */
export function membersOf(evidence: Evidence): ReadonlyMap<string, readonly string[]> {
  const members = new Map<string, readonly string[]>();
  const queued = queueKeys(evidence, 'queued:').flatMap(([, list]) =>
    list.type === 'list' ? list.items : [],
  );
  members.set('queued', queued);
  for (const [index, status] of Object.entries(INDEXES)) {
    const zset = queueKey(evidence, index);
    members.set(status, zset?.type === 'zset' ? Object.keys(zset.scores) : []);
  }
  return members;
}
