/** The port through which idempotency records are kept: who runs an operation, and what it once answered. */
import type { FencingToken } from '../job/job.js';

/** What `begin` found. Results are JSON text that the store never looks into. */
export type BeginReply =
  /** The operation is the caller's to run. `takenOver`: the lease of another owner had run out. */
  | { readonly kind: 'started'; readonly token: FencingToken; readonly takenOver: boolean }
  /** It was done. */
  | { readonly kind: 'replay'; readonly result: string }
  /** The key belongs to an operation with another fingerprint. */
  | { readonly kind: 'conflict' }
  /** Someone runs it, with a lease that has this long to go unless it is renewed. */
  | { readonly kind: 'busy'; readonly remainingMs: number };

/** A record as an operator sees it. Times are ms since the epoch, by the store's clock. */
export interface IdempotencyRecord {
  readonly status: 'processing' | 'done';
  readonly fencingToken: FencingToken;
  /** Who runs it, or ran it. */
  readonly owner: string;
  readonly fingerprint: string | undefined;
  readonly startedAt: number;
  /** While it is processed: until when the owner is alone. */
  readonly leaseExpiresAt: number | undefined;
  /** Once it is done. */
  readonly completedAt: number | undefined;
  /** Once it is done: until when the result is replayed. */
  readonly expiresAt: number | undefined;
  readonly result: string | undefined;
}

/**
 * Each method is one atomic step on the record of one key. A token is accepted if and only if it is the
 * record's current one: an expired lease that nobody has taken over is still its owner's.
 * @throws StoreUnavailableError from every method, when the store cannot be reached.
 */
export interface IdempotencyStore {
  /**
   * Claims the operation, or says why not. The same owner may begin again, and is given the token it has: so
   * a call whose reply was lost can be repeated.
   * @param fingerprint what the key stands for; `undefined` fits every other one
   * @param owner unique for each run of the operation
   */
  begin(key: string, fingerprint: string | undefined, owner: string, leaseMs: number): Promise<BeginReply>;
  /** `false`: the claim is lost. */
  renew(key: string, token: FencingToken, leaseMs: number): Promise<boolean>;
  /** Keeps the result for `ttlMs`. `false`: the claim is lost and nothing was written. May be repeated. */
  complete(key: string, token: FencingToken, result: string, ttlMs: number): Promise<boolean>;
  /** Forgets the operation as if it had never begun. `false`: the claim is lost or completed; nothing was changed. */
  release(key: string, token: FencingToken): Promise<boolean>;
  inspect(key: string): Promise<IdempotencyRecord | undefined>;
}
