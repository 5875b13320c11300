/** Promise 4: nothing outlives its owner. */
import type { Check, Evidence } from '../evidence.js';
import { entriesOf } from '../runs.js';
import { INDEXES, JOB_PARTS, jobsOf, queueKey, queueKeys } from '../stored.js';

/** Keys that a queue keeps. */
const LASTING = new Set(['meta', 'fence', 'stats', 'wake', 'workers', ...Object.keys(INDEXES)]);
/** Kinds of keys that an idle queue must not have. */
const HELD = ['lock', 'waiting', 'dedup', 'held', 'gone', 'queued'];
const OUTSIDE_WITHOUT_TTL = /^fenced:\{[^}]+\}:value$/;
const OUTSIDE_WITH_TTL = /^(lock:\{[^}]+\}:(fence|waiters|waiting)|idempotency:\{[^}]+\}:record)$/;

export const noOrphanKey: Check = {
  name: 'no key outlives its owner',
  promise:
    'When all jobs have ended there is no lock, waiting list, dedup key, claim or part of a job without owner.',
  needsEveryWrite: false,
  find: (evidence) => [...inQueue(evidence), ...outside(evidence)],
};

function inQueue(evidence: Evidence): string[] {
  const jobs = jobsOf(evidence);
  const workers = queueKey(evidence, 'workers');
  const known = workers?.type === 'zset' ? workers.scores : {};
  const silenced = pidsOfSilenced(evidence);
  const isDead = (workerId: string): boolean => silenced.has(Number(/-(\d+)-[0-9a-f]+$/.exec(workerId)?.[1]));
  const verdict = (key: string, ttlMs: number): string | undefined => {
    const [kind = '', ...rest] = key.split(':');
    const id = rest.join(':');
    if (LASTING.has(key) || kind === 'job') return undefined;
    if (kind === 'stats') return ttlMs < 0 ? 'never expires' : undefined;
    if (kind === 'idempotency')
      return ttlMs < 0 ? 'its operation is not done and nobody is at it' : undefined;
    if (kind === 'worker') return id in known ? undefined : 'its worker has signed off';
    if (HELD.includes(kind)) return 'no job needs it any more';
    if (JOB_PARTS.some((part) => part === kind)) return jobs.has(id) ? undefined : 'its job is gone';
    return 'nobody knows what it is';
  };
  const bad = queueKeys(evidence).flatMap(([key, { ttlMs }]) => {
    const problem = verdict(key, ttlMs);
    return problem === undefined ? [] : [`${key}: ${problem}`];
  });
  const unsigned = Object.keys(known).filter((workerId) => !isDead(workerId));
  return [...bad, ...unsigned.map((workerId) => `worker ${workerId} ended and is still on record`)];
}

/** Killed, or asked to end while Redis could not be told: their records stay for an hour. */
function pidsOfSilenced(evidence: Evidence): ReadonlySet<number> {
  const healedAt = entriesOf(evidence, 'healed').at(-1)?.at ?? Infinity;
  const endedEarly = new Set(
    entriesOf(evidence, 'exited')
      .filter(({ at }) => at < healedAt)
      .map(({ target }) => target),
  );
  const booted = entriesOf(evidence, 'booted').filter(({ by }) => endedEarly.has(by));
  return new Set([...entriesOf(evidence, 'killed'), ...booted].map(({ pid }) => pid));
}

function outside({ final }: Evidence): string[] {
  return Object.entries(final).flatMap(([key, { ttlMs }]) => {
    if (key.startsWith('{jobs}:') || OUTSIDE_WITHOUT_TTL.test(key)) return [];
    if (!OUTSIDE_WITH_TTL.test(key)) return [`${key}: nobody holds it any more`];
    return ttlMs < 0 ? [`${key}: never expires`] : [];
  });
}
