/** Who holds a resource or idempotency key, who waits for it, and how it passes on. */
import type { StoredJob } from './stored-job.js';
import { Fifo } from './fifo.js';

/** What the keys need of the queue to let jobs wait and go on. */
export interface WaitingRoom {
  find(jobId: string): StoredJob | undefined;
  /** For a job that was just taken off the queue. */
  block(job: StoredJob, blockedOn: string): void;
  /** Back to the head of the queue. */
  unblock(job: StoredJob): void;
}

interface KeyLock {
  /**
   * The job that runs with the key, or the one it is reserved for, which is next: queued, or waiting for its other
   * key. Never one that has neither an attempt nor a reservation, so a lock that exists is a key that is busy.
   */
  holder: StoredJob;
  /** Ids in the order in which the jobs were blocked. Some may have left since; they are passed over. */
  readonly waiting: Fifo<string>;
}

export class MemoryKeys {
  /** By `<kind>:<key>`. */
  private readonly locks = new Map<string, KeyLock>();

  constructor(private readonly room: WaitingRoom) {}

  /**
   * Takes all keys for an attempt, or none: then the job is blocked on the busy one and passes the other on. Only a
   * resource that it has reserved it keeps while its operation is not running yet but reserved for somebody else.
   * Did both pass on what they have, then jobs with the same two keys could hand them around for ever.
   */
  take(job: StoredJob): boolean {
    const names = namesOf(job);
    for (const name of names) {
      const lock = this.locks.get(name);
      if (!lock || lock.holder === job) continue;
      lock.waiting.push(job.id);
      this.room.block(job, name);
      const waitsForResource = name === names[0] && job.resourceKey !== undefined;
      const isReserved = lock.holder.status !== 'processing';
      if (waitsForResource || !isReserved) {
        for (const other of names) if (other !== name) this.pass(job, other);
      }
      return false;
    }
    for (const name of names) {
      if (!this.locks.has(name)) this.locks.set(name, { holder: job, waiting: new Fifo() });
    }
    return true;
  }

  /** Passes on everything that the job holds or has reserved. */
  release(job: StoredJob): void {
    for (const name of namesOf(job)) this.pass(job, name);
  }

  releaseIdempotency(job: StoredJob): void {
    if (job.idempotency) this.pass(job, idempotencyName(job.idempotency.key));
  }

  /** Reserves the key for the first that still waits for it, or frees it. */
  private pass(job: StoredJob, name: string): void {
    const lock = this.locks.get(name);
    if (lock?.holder !== job) return;
    for (let id = lock.waiting.shift(); id !== undefined; id = lock.waiting.shift()) {
      const next = this.room.find(id);
      if (next?.status !== 'blocked' || next.blockedOn !== name) continue;
      lock.holder = next;
      return this.room.unblock(next);
    }
    this.locks.delete(name);
  }
}

/** In the order in which they are taken. */
function namesOf({ resourceKey, idempotency }: StoredJob): string[] {
  const names = resourceKey === undefined ? [] : [`resource:${resourceKey}`];
  if (idempotency) names.push(idempotencyName(idempotency.key));
  return names;
}

function idempotencyName(key: string): string {
  return `idempotency:${key}`;
}
