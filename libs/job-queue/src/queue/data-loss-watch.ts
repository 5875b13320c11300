/**
 * Notices that the store has forgotten what it had stored: FLUSHALL, a restart without persistence, a failover to an
 * empty server, an older copy. Nobody can bring the jobs back, but nobody shall have to find out by their absence.
 */
import type { JobEvents } from '../events/job-events.js';
import { INTERNAL } from '../options/defaults.js';
import type { QueueMark } from '../store/job-store.js';

/** `all`: the record of the queue is gone, or another one. `latest`: the queue has counted less than before. */
export type LostData = 'all' | 'latest';

export interface DataLoss {
  readonly lost: LostData;
  readonly agoMs: number;
}

interface Seen {
  mark: QueueMark;
  loss: { readonly lost: LostData; readonly at: number } | undefined;
}

export class DataLossWatch {
  private readonly seen = new Map<string, Seen>();

  constructor(
    private readonly events: JobEvents,
    private readonly now: () => number = () => performance.now(),
  ) {}

  /** Compares what the store says of the queue with what it said before, and tells a loss once. */
  observe(queue: string, mark: QueueMark): void {
    const before = this.seen.get(queue);
    const lost = before && compare(before.mark, mark);
    const loss = lost ? { lost, at: this.now() } : before?.loss;
    this.seen.set(queue, { mark, loss });
    if (lost) this.events.emit('store_lost_data', { queue, lost });
  }

  /** The last loss that this process noticed, for an hour. */
  lossOf(queue: string): DataLoss | undefined {
    const loss = this.seen.get(queue)?.loss;
    if (!loss) return undefined;
    const agoMs = Math.round(this.now() - loss.at);
    return agoMs < INTERNAL.dataLossShownMs ? { lost: loss.lost, agoMs } : undefined;
  }
}

function compare(before: QueueMark, after: QueueMark): LostData | undefined {
  // Before the first heartbeat there is no record that could be missing.
  if (before.createdAt !== undefined && after.createdAt !== before.createdAt) return 'all';
  return after.counted < before.counted ? 'latest' : undefined;
}
