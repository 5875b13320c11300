/** Everything that an enqueue may meet: new jobs with and without keys, and owners of dedup keys in every state. */
import type { Redis } from 'ioredis';
import { LONG_MS, newJob, once, OUTCOMES, unique, type StoreDriver } from '../contract/contract-store.js';

/** Leaves owners as a worker leaves them. */
export async function prepareOwners(jobs: StoreDriver, redis: Redis): Promise<void> {
  await jobs.enqueueWith({ dedup: unique('running') }, 'running');
  await jobs.enqueueWith({ resource: 'held' }, 'holder');
  await jobs.enqueueWith({ resource: 'passed on' }, 'first');
  await jobs.enqueueWith({ dedup: unique('followed') }, 'followed');
  const [, , first] = await jobs.claim(4);
  await jobs.enqueueWith({ resource: 'held', dedup: unique('blocked') }, 'blocked');
  await jobs.enqueueWith({ resource: 'held' }, 'blocked-behind');
  await jobs.enqueueWith({ resource: 'passed on', dedup: unique('reserving') }, 'reserving');
  await jobs.enqueueWith({ resource: 'passed on' }, 'reserving-behind');
  await jobs.claim(4);
  if (first) await jobs.settle(first, OUTCOMES.done);

  await jobs.enqueueWith({ dedup: unique('followed', { onDuplicate: 'rerun' }) }, 'follower');
  await jobs.enqueueWith({ dedup: unique('vanished') }, 'vanished');
  await redis.del('fl:{jobs}:job:followed', 'fl:{jobs}:run:followed');
  await redis.del('fl:{jobs}:job:vanished', 'fl:{jobs}:run:vanished');

  await jobs.enqueueWith({ dedup: unique('queued') }, 'queued');
  await jobs.enqueue('scheduled', { delayMs: LONG_MS, keys: { dedup: unique('scheduled') } });
  await jobs.enqueueWith({ idempotency: once('shared'), dedup: unique('operation') }, 'operation');
}

export async function enqueueInEveryWay(jobs: StoreDriver): Promise<void> {
  await jobs.store.enqueue([
    newJob('generated', { callerChosenId: false }),
    newJob('urgent', { priority: 0 }),
    newJob('late', { delayMs: LONG_MS }),
  ]);
  await jobs.enqueueAll('generated', 'late');
  await jobs.enqueueWith({ resource: 'r', idempotency: once('i') }, 'keyed', 'keyed');
  await jobs.enqueueWith({ dedup: unique('window', { windowMs: LONG_MS, keepWhenDead: true }) }, 'windowed');
}

export async function enqueueOnOwners(jobs: StoreDriver): Promise<void> {
  const again = (key: string, onDuplicate: 'replace' | 'rerun' | 'reject', delayMs = 0) =>
    jobs.enqueue(`${key}-again`, {
      delayMs,
      keys: {
        dedup: unique(key, { onDuplicate }),
        idempotency: key === 'operation' ? once('shared') : undefined,
      },
    });
  await again('running', 'reject');
  await again('running', 'rerun');
  await again('running', 'rerun');
  await again('queued', 'replace', LONG_MS);
  await again('scheduled', 'replace');
  await again('blocked', 'replace', LONG_MS);
  await again('reserving', 'replace', LONG_MS);
  await again('operation', 'replace');
  await again('followed', 'replace');
  await again('vanished', 'replace');
}
