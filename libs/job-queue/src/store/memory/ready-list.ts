/** The queued jobs of one priority, first in first out, with a way in at the head. */
import type { StoredJob } from './stored-job.js';

const SMALLEST = 16;

/**
 * A job that leaves the queue from the middle (cancel, remove) leaves its entry standing, for finding it
 * would cost a scan. An entry is live while its job names it as its position; others are skipped when
 * they come to the head. A ring buffer, because `Array.shift` moves everything.
 */
export class ReadyList {
  private slots = emptySlots(SMALLEST);
  /** Positions are never used twice: the head's goes down, the tail's goes up. */
  private head = 0;
  private tail = 0;
  private live = 0;

  /** How many jobs are queued here; entries that only stand do not count. */
  get size(): number {
    return this.live;
  }

  push(job: StoredJob, end: 'head' | 'tail'): void {
    if (this.tail - this.head === this.slots.length) this.grow();
    const position = end === 'head' ? --this.head : this.tail++;
    this.slots[this.slotOf(position)] = job;
    job.position = position;
    this.live += 1;
  }

  /** Takes a job out of the middle. */
  leave(job: StoredJob): void {
    job.position = undefined;
    this.live -= 1;
    if (this.live === 0) this.clear();
  }

  /** Takes one entry off the head: its job, or `undefined` for one that only stood there. */
  shift(): StoredJob | undefined {
    const job = this.liveAt(this.head);
    this.dropHead();
    if (job) this.leave(job);
    return job;
  }

  /** The next job to be claimed. */
  peek(): StoredJob | undefined {
    while (this.live > 0) {
      const job = this.liveAt(this.head);
      if (job) return job;
      this.dropHead();
    }
    return undefined;
  }

  /** Up to `limit` jobs in order, starting behind a position, which need not be taken any more. */
  page(behind: number | undefined, limit: number): StoredJob[] {
    const found: StoredJob[] = [];
    const from = behind === undefined ? this.head : Math.max(this.head, behind + 1);
    for (let position = from; position < this.tail && found.length < limit; position += 1) {
      const job = this.liveAt(position);
      if (job) found.push(job);
    }
    return found;
  }

  private liveAt(position: number): StoredJob | undefined {
    const job = this.slots[this.slotOf(position)];
    return job?.position === position ? job : undefined;
  }

  private dropHead(): void {
    this.slots[this.slotOf(this.head)] = undefined;
    this.head += 1;
  }

  /** Only entries that do not count are left. */
  private clear(): void {
    if (this.tail === this.head && this.slots.length <= 64 * SMALLEST) return;
    this.slots = emptySlots(SMALLEST);
    this.head = this.tail;
  }

  private grow(): void {
    const old = this.slots;
    this.slots = emptySlots(old.length * 2);
    for (let position = this.head; position < this.tail; position += 1) {
      this.slots[this.slotOf(position)] = old[position & (old.length - 1)];
    }
  }

  /** The length is a power of two, so this also holds for the negative positions at the head. */
  private slotOf(position: number): number {
    return position & (this.slots.length - 1);
  }
}

function emptySlots(length: number): (StoredJob | undefined)[] {
  return Array.from({ length }, () => undefined);
}
