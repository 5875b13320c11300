/** What a lock process of the tests is told at its start, and what it and its parent say to each other. */

/** Travels as JSON, in the environment. */
export interface LockProcessOptions {
  readonly url: string;
  readonly prefix: string;
}

export const LOCK_OPTIONS_VARIABLE = 'FENCELINE_TEST_LOCKS';

/**
 * Many acquires at once; each holder sends a `write`, works for a moment and releases, without waiting for the write.
 * One of them stops its own process (SIGSTOP) in the middle of its work, until the parent continues it.
 */
export interface StormRequest {
  readonly kind: 'storm';
  readonly names: readonly string[];
  readonly acquires: number;
  readonly ttlMs: number;
  readonly waitMs: number;
}

export type ToLocks =
  | { readonly kind: 'acquire'; readonly name: string; readonly ttlMs: number; readonly waitMs: number }
  | { readonly kind: 'release'; readonly name: string }
  | StormRequest;

export interface WriteMessage {
  readonly kind: 'write';
  readonly name: string;
  readonly owner: string;
  readonly token: number;
  /** The process stops right after this message. */
  readonly stops: boolean;
}

export type FromLocks =
  | { readonly kind: 'ready' }
  | { readonly kind: 'acquired'; readonly name: string; readonly owner: string; readonly token: number }
  | { readonly kind: 'released'; readonly name: string; readonly wasHeld: boolean }
  | WriteMessage
  | { readonly kind: 'storm over'; readonly failures: readonly string[]; readonly lost: number };
