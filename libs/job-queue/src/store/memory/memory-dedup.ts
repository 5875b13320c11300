/** Which job owns a dedup key, and the follow-up of `rerun` that waits for its end. */
import type { DedupRequest } from '../new-job.js';
import { ExpiringMap } from './expiring-map.js';
import type { WaitingRoom } from './memory-keys.js';
import type { StoredJob } from './stored-job.js';

export interface DedupRecord {
  ownerId: string;
  readonly type: string;
  /** Owned until a time, whatever becomes of the owner. */
  readonly isWindow: boolean;
  readonly keepWhenDead: boolean;
  followUpId: string | undefined;
}

export class MemoryDedup {
  private readonly records: ExpiringMap<DedupRecord>;

  constructor(
    private readonly room: WaitingRoom,
    private readonly now: () => number,
  ) {
    this.records = new ExpiringMap(now);
  }

  find(key: string): DedupRecord | undefined {
    return this.records.get(key);
  }

  own(jobId: string, { key, type, windowMs, keepWhenDead }: DedupRequest): void {
    const record = {
      ownerId: jobId,
      type,
      isWindow: windowMs !== undefined,
      keepWhenDead,
      followUpId: undefined,
    };
    this.records.set(key, record, windowMs === undefined ? Infinity : this.now() + windowMs);
  }

  /** The follow-up that waits for the end of the owner. */
  followUpOf(key: string): StoredJob | undefined {
    const followUpId = this.records.get(key)?.followUpId;
    const followUp = followUpId === undefined ? undefined : this.room.find(followUpId);
    return followUp?.status === 'blocked' && followUp.blockedOn === `dedup:${key}` ? followUp : undefined;
  }

  /**
   * The owner ended, or is deleted: its key passes to the follow-up, or is free. A dead owner may keep it,
   * unless somebody waits for it. Of a job that is not the owner, or not any more, this changes nothing.
   */
  leave(job: StoredJob, mayKeep: boolean): void {
    const key = job.dedup?.key;
    const record = key === undefined ? undefined : this.records.get(key);
    if (key === undefined || record?.ownerId !== job.id || record.isWindow) return;
    const followUp = this.followUpOf(key);
    if (followUp) {
      record.ownerId = followUp.id;
      record.followUpId = undefined;
      this.room.unblock(followUp);
    } else if (!mayKeep || !record.keepWhenDead) {
      this.records.delete(key);
    }
  }
}
