/** Entries in order of a time, and of their id where times are equal: what a sorted set is to the Redis store. */

export interface Place {
  readonly at: number;
  readonly id: string;
}

export type TimeOrder = 'oldest' | 'newest';

const CHUNK_LENGTH = 512;

export class TimeIndex<T extends Place> {
  /**
   * Sorted arrays that follow one another; none is empty. One long array would have half of it moved by
   * every insertion and removal.
   */
  private readonly chunks: T[][] = [];
  private entries = 0;

  get size(): number {
    return this.entries;
  }

  /** The entry with the earliest time. */
  first(): T | undefined {
    return this.chunks[0]?.[0];
  }

  add(entry: T): void {
    this.entries += 1;
    const at = Math.min(this.chunkOf(entry), this.chunks.length - 1);
    const chunk = this.chunks[at];
    if (!chunk) {
      this.chunks.push([entry]);
      return;
    }
    chunk.splice(firstNotBefore(chunk, entry), 0, entry);
    if (chunk.length > CHUNK_LENGTH) this.chunks.splice(at + 1, 0, chunk.splice(CHUNK_LENGTH / 2));
  }

  delete(entry: T): void {
    const at = this.chunkOf(entry);
    const chunk = this.chunks[at];
    const index = chunk ? firstNotBefore(chunk, entry) : -1;
    // Its time was changed while it stood here: better to fail than to leave a ghost behind.
    if (chunk?.[index] !== entry) throw new Error(`"${entry.id}" does not stand where its time says`);
    this.entries -= 1;
    chunk.splice(index, 1);
    if (chunk.length === 0) this.chunks.splice(at, 1);
  }

  /** Up to `limit` entries whose time is not after the given one, earliest first. */
  until(time: number, limit: number): T[] {
    const found: T[] = [];
    for (const chunk of this.chunks) {
      for (const entry of chunk) {
        if (entry.at > time || found.length >= limit) return found;
        found.push(entry);
      }
    }
    return found;
  }

  /** Up to `limit` entries, starting behind the given place, which need not be taken any more. */
  page(order: TimeOrder, behind: Place | undefined, limit: number): T[] {
    return order === 'oldest' ? this.upwards(behind, limit) : this.downwards(behind, limit);
  }

  private upwards(behind: Place | undefined, limit: number): T[] {
    const found: T[] = [];
    let at = behind ? this.chunkOf(behind) : 0;
    for (let chunk = this.chunks[at]; chunk && found.length < limit; chunk = this.chunks[++at]) {
      // At most one entry more than wanted: the one that stands exactly at the place.
      const from = behind ? firstNotBefore(chunk, behind) : 0;
      for (const entry of chunk.slice(from, from + limit + 1)) {
        if (found.length < limit && (!behind || compare(entry, behind) > 0)) found.push(entry);
      }
    }
    return found;
  }

  private downwards(behind: Place | undefined, limit: number): T[] {
    const found: T[] = [];
    let at = behind ? Math.min(this.chunkOf(behind), this.chunks.length - 1) : this.chunks.length - 1;
    for (let chunk = this.chunks[at]; chunk && found.length < limit; chunk = this.chunks[--at]) {
      let index = (behind ? firstNotBefore(chunk, behind) : chunk.length) - 1;
      for (; index >= 0 && found.length < limit; index -= 1) {
        const entry = chunk[index];
        if (entry) found.push(entry);
      }
    }
    return found;
  }

  /** Index of the only chunk that can hold the place; the number of chunks when it lies behind all of them. */
  private chunkOf(place: Place): number {
    let low = 0;
    let high = this.chunks.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const last = this.chunks[middle]?.at(-1);
      if (last && compare(last, place) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function firstNotBefore(chunk: readonly Place[], place: Place): number {
  let low = 0;
  let high = chunk.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    const entry = chunk[middle];
    if (entry && compare(entry, place) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}

function compare(a: Place, b: Place): number {
  if (a.at !== b.at) return a.at - b.at;
  if (a.id === b.id) return 0;
  return a.id < b.id ? -1 : 1;
}
