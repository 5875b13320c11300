/** The records of idempotency keys: what an operation is about, who still waits for it, and its result once it is done. */
import type { IdempotencyRequest } from '../new-job.js';
import { ExpiringMap } from './expiring-map.js';

interface OperationRecord {
  fingerprint: string;
  /** Jobs with the key that have not ended. */
  pending: number;
  done: { readonly result: string | undefined } | undefined;
}

export class MemoryOperations {
  private readonly records: ExpiringMap<OperationRecord>;

  constructor(private readonly now: () => number) {
    this.records = new ExpiringMap(now);
  }

  /** Counts a job among those that wait for the operation; `false` when the key stands for another one. */
  enter({ key, fingerprint }: IdempotencyRequest): boolean {
    const record = this.recordOf(key, fingerprint);
    if (record.fingerprint !== fingerprint) return false;
    record.pending += 1;
    return true;
  }

  /** A job with the key ends. The last one out deletes a record of what was never done. */
  leave(request: IdempotencyRequest): void {
    const { key } = request;
    const record = this.own(request);
    if (!record) return;
    record.pending -= 1;
    if (record.pending <= 0 && !record.done) this.records.delete(key);
  }

  complete({ key, fingerprint, ttlMs }: IdempotencyRequest, result: string | undefined): void {
    const record = this.recordOf(key, fingerprint);
    if (record.fingerprint !== fingerprint) return;
    record.done = { result };
    this.records.set(key, record, this.now() + ttlMs);
  }

  /** What was stored when the operation was done. */
  outcomeOf(request: IdempotencyRequest): { readonly result: string | undefined } | undefined {
    return this.own(request)?.done;
  }

  /** Gives the operation another fingerprint, unless it was done or somebody else waits for it as it is. */
  revise({ key, fingerprint }: IdempotencyRequest): boolean {
    const record = this.recordOf(key, fingerprint);
    if (record.fingerprint !== fingerprint && (record.done || record.pending > 1)) return false;
    record.fingerprint = fingerprint;
    return true;
  }

  /**
   * A record may expire while jobs wait, and the key be used for another payload since. Theirs it is not then.
   */
  private own({ key, fingerprint }: IdempotencyRequest): OperationRecord | undefined {
    const record = this.records.get(key);
    return record?.fingerprint === fingerprint ? record : undefined;
  }

  /** The first one with a key decides what it is about. */
  private recordOf(key: string, fingerprint: string): OperationRecord {
    const known = this.records.get(key);
    if (known) return known;
    const record: OperationRecord = { fingerprint, pending: 0, done: undefined };
    this.records.set(key, record);
    return record;
  }
}
