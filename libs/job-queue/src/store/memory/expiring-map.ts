/** Values by key, of which some vanish at a certain time: what keys with a TTL are to the Redis store. */
import { TimeIndex, type Place } from './time-index.js';

interface Entry<V> extends Place {
  /** Infinity for one that stays. */
  readonly at: number;
  readonly value: V;
}

export class ExpiringMap<V> {
  private readonly entries = new Map<string, Entry<V>>();
  private readonly expiring = new TimeIndex<Entry<V>>();

  constructor(private readonly now: () => number) {}

  get(key: string): V | undefined {
    this.sweep();
    return this.entries.get(key)?.value;
  }

  set(key: string, value: V, expiresAt = Infinity): void {
    this.delete(key);
    const entry = { id: key, at: expiresAt, value };
    this.entries.set(key, entry);
    if (expiresAt !== Infinity) this.expiring.add(entry);
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.entries.delete(key);
    if (entry.at !== Infinity) this.expiring.delete(entry);
  }

  /** Everything that is due goes, so that keys which nobody asks for again do not pile up. */
  private sweep(): void {
    const now = this.now();
    for (let first = this.expiring.first(); first && first.at <= now; first = this.expiring.first()) {
      this.delete(first.id);
    }
  }
}
