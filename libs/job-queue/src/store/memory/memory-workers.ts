/** What the store remembers of workers: when each was last heard, and the last numbered call of its lanes. */
import { SupersededCallError } from '../../errors/errors.js';
import type { FencingToken } from '../../job/job.js';
import { INTERNAL } from '../../options/defaults.js';
import type { LaneCall, SettleReply } from '../job-store.js';

/** The two parts of a call are remembered on their own: a call may have only one of them. */
export interface LaneMemory {
  settleNumber: number;
  settled: readonly SettleReply[];
  claimNumber: number;
  claimed: readonly { readonly jobId: string; readonly token: FencingToken }[];
}

interface WorkerRecord {
  /** Of its last heartbeat; `undefined` for one that never sent any, which is kept until it signs off. */
  lastHeardAt: number | undefined;
  readonly lanes: Map<number, LaneMemory>;
}

export class MemoryWorkers {
  private readonly records = new Map<string, WorkerRecord>();

  heard(workerId: string, now: number): void {
    this.recordOf(workerId).lastHeardAt = now;
  }

  /** @throws SupersededCallError when a later call of the lane was carried out already. */
  lane(call: LaneCall): LaneMemory {
    const record = this.recordOf(call.workerId);
    const known = record.lanes.get(call.lane);
    if (known) {
      if (call.number < Math.max(known.settleNumber, known.claimNumber)) {
        throw new SupersededCallError(call.workerId, call.lane, call.number);
      }
      return known;
    }
    const created: LaneMemory = { settleNumber: 0, settled: [], claimNumber: 0, claimed: [] };
    record.lanes.set(call.lane, created);
    return created;
  }

  signOff(workerId: string): void {
    this.records.delete(workerId);
  }

  /** Forgets workers that are silent for long, except those that still hold jobs. `holders` is asked only if need be. */
  forgetSilent(now: number, holders: () => ReadonlySet<string | undefined>): void {
    const silent = [...this.records].filter(
      ([, { lastHeardAt }]) => lastHeardAt !== undefined && lastHeardAt < now - INTERNAL.forgetWorkerMs,
    );
    if (silent.length === 0) return;
    const kept = holders();
    for (const [workerId] of silent) {
      if (!kept.has(workerId)) this.records.delete(workerId);
    }
  }

  private recordOf(workerId: string): WorkerRecord {
    const known = this.records.get(workerId);
    if (known) return known;
    const created: WorkerRecord = { lastHeardAt: undefined, lanes: new Map() };
    this.records.set(workerId, created);
    return created;
  }
}
