/** The queue's counters: for its lifetime, and per minute for the sliding windows of the health checks. */
import type { Stat, StatCounts } from '../job-store.js';
import { minutesOf } from '../stat-window.js';

const MINUTE_MS = 60_000;
const MINUTES_KEPT = 120;

type Counters = Record<Stat, number>;

export class MemoryStatistics {
  private readonly lifetime = zeros();
  private readonly minutes = new Map<number, Counters>();

  add(stat: Stat, now: number, amount = 1): void {
    this.lifetime[stat] += amount;
    this.minuteOf(now)[stat] += amount;
  }

  total(): StatCounts {
    return { ...this.lifetime };
  }

  /** Sums the last minutes, the one that is running included. */
  recent(stats: readonly Stat[], now: number, windowMs: number): Partial<Counters> {
    const minutes = minutesOf(windowMs);
    const last = Math.floor(now / MINUTE_MS);
    const sums: Partial<Counters> = {};
    for (const stat of stats) {
      let sum = 0;
      for (let minute = last; minute > last - minutes; minute -= 1)
        sum += this.minutes.get(minute)?.[stat] ?? 0;
      sums[stat] = sum;
    }
    return sums;
  }

  private minuteOf(now: number): Counters {
    const minute = Math.floor(now / MINUTE_MS);
    const known = this.minutes.get(minute);
    if (known) return known;
    for (const old of this.minutes.keys()) {
      if (old < minute - MINUTES_KEPT) this.minutes.delete(old);
    }
    const counters = zeros();
    this.minutes.set(minute, counters);
    return counters;
  }
}

function zeros(): Counters {
  return {
    enqueued: 0,
    duplicates: 0,
    replaced: 0,
    blocked: 0,
    done: 0,
    replayed: 0,
    retried: 0,
    dead: 0,
    cancelled: 0,
    released: 0,
    snoozed: 0,
    redriven: 0,
    lost_leases: 0,
    stale_refused: 0,
    runaways: 0,
  };
}
