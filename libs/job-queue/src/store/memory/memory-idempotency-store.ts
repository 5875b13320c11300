/**
 * Idempotency records in this process's memory, and the executable specification of the port. Every method
 * does its work synchronously, so it is atomic.
 */
import type { FencingToken } from '../../job/job.js';
import { INTERNAL } from '../../options/defaults.js';
import type { BeginReply, IdempotencyRecord, IdempotencyStore } from '../idempotency-store.js';

interface StoredRecord extends IdempotencyRecord {
  /** When the store forgets it. */
  readonly forgottenAt: number;
}

export interface MemoryIdempotencyStoreOptions {
  /** The store's time in ms. Default: `Date.now`. */
  readonly clock?: () => number;
}

export class MemoryIdempotencyStore implements IdempotencyStore {
  private readonly records = new Map<string, StoredRecord>();
  private readonly clock: () => number;
  /** One counter for all keys, so that nothing need be remembered of a released one. */
  private lastToken = 0;
  private sizeAfterSweep = 0;

  constructor({ clock = Date.now }: MemoryIdempotencyStoreOptions = {}) {
    this.clock = clock;
  }

  async begin(
    key: string,
    fingerprint: string | undefined,
    owner: string,
    leaseMs: number,
  ): Promise<BeginReply> {
    this.sweep();
    const now = this.clock();
    const known = this.find(key);
    const knownFingerprint = known?.fingerprint;
    if (fingerprint !== undefined && knownFingerprint !== undefined && fingerprint !== knownFingerprint) {
      return { kind: 'conflict' };
    }
    if (known?.status === 'done') return { kind: 'replay', result: known.result ?? '' };
    const isOwn = known?.owner === owner;
    const remainingMs = (known?.leaseExpiresAt ?? now) - now;
    if (!isOwn && remainingMs > 0) return { kind: 'busy', remainingMs };

    const token = isOwn ? known.fencingToken : this.mintToken(now);
    this.records.set(key, {
      status: 'processing',
      fencingToken: token,
      owner,
      fingerprint: fingerprint ?? knownFingerprint,
      startedAt: isOwn ? known.startedAt : now,
      leaseExpiresAt: now + leaseMs,
      completedAt: undefined,
      expiresAt: undefined,
      result: undefined,
      forgottenAt: now + leaseMs + INTERNAL.forgetAbandonedClaimMs,
    });
    return { kind: 'started', token, takenOver: known !== undefined && !isOwn };
  }

  async renew(key: string, token: FencingToken, leaseMs: number): Promise<boolean> {
    const record = this.heldBy(key, token);
    if (!record) return false;
    const leaseExpiresAt = this.clock() + leaseMs;
    const forgottenAt = leaseExpiresAt + INTERNAL.forgetAbandonedClaimMs;
    this.records.set(key, { ...record, leaseExpiresAt, forgottenAt });
    return true;
  }

  async complete(key: string, token: FencingToken, result: string, ttlMs: number): Promise<boolean> {
    const known = this.find(key);
    if (known?.fencingToken !== token) return false;
    if (known.status === 'done') return true;
    const now = this.clock();
    this.records.set(key, {
      ...known,
      status: 'done',
      leaseExpiresAt: undefined,
      completedAt: now,
      expiresAt: now + ttlMs,
      result,
      forgottenAt: now + ttlMs,
    });
    return true;
  }

  async release(key: string, token: FencingToken): Promise<boolean> {
    return this.heldBy(key, token) !== undefined && this.records.delete(key);
  }

  async inspect(key: string): Promise<IdempotencyRecord | undefined> {
    const known = this.find(key);
    if (!known) return undefined;
    const { forgottenAt: _, ...record } = known;
    return record;
  }

  private heldBy(key: string, token: FencingToken): StoredRecord | undefined {
    const record = this.find(key);
    return record?.status === 'processing' && record.fencingToken === token ? record : undefined;
  }

  private find(key: string): StoredRecord | undefined {
    const record = this.records.get(key);
    return record !== undefined && record.forgottenAt > this.clock() ? record : undefined;
  }

  private mintToken(now: number): FencingToken {
    this.lastToken = Math.max(this.lastToken + 1, now * 1_000);
    return this.lastToken;
  }

  /** Looks at all records only when they have doubled, so that each `begin` pays for a few of them. */
  private sweep(): void {
    if (this.records.size < 2 * this.sizeAfterSweep + INTERNAL.memorySweepMinimum) return;
    for (const key of [...this.records.keys()]) if (!this.find(key)) this.records.delete(key);
    this.sizeAfterSweep = this.records.size;
  }
}
