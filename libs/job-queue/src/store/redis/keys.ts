/**
 * The names of the Redis keys of queues, locks and fenced values. The scripts build the rest from the same base, so docs/redis-keys.md,
 * scripts/*.lua and this file are where a key is spelled out.
 */

/** All keys of a queue share the hash tag `{queue}`, hence one cluster slot. */
export class QueueKeys {
  private readonly base: string;

  constructor(prefix: string, queue: string) {
    this.base = `${prefix}:{${queue}}:`;
  }

  /** What every script declares: a key of the queue, and one that never exists (see scripts/prelude.lua). */
  get declared(): readonly [string, string] {
    return [`${this.base}meta`, `${this.base}absent`];
  }

  get wake(): string {
    return `${this.base}wake`;
  }

  checkpoint(jobId: string): string {
    return `${this.base}checkpoint:${jobId}`;
  }
}

/** All keys of a lock share the hash tag `{name}`. */
export class LockKeys {
  readonly declared: readonly [string, string];

  constructor(prefix: string, name: string) {
    const base = `${prefix}:lock:{${encode(name)}}:`;
    this.declared = [`${base}holder`, `${base}absent`];
  }
}

/** The record of an idempotency key, outside of jobs. */
export class IdempotencyKeys {
  readonly declared: readonly [record: string, absent: string];

  constructor(prefix: string, key: string) {
    const base = `${prefix}:idempotency:{${encode(key)}}:`;
    this.declared = [`${base}record`, `${base}absent`];
  }

  get record(): string {
    return this.declared[0];
  }
}

/** A value that only accepts fenced writes. */
export class FencedValueKeys {
  readonly declared: readonly [value: string, absent: string];

  constructor(prefix: string, key: string) {
    const base = `${prefix}:fenced:{${encode(key)}}:`;
    this.declared = [`${base}value`, `${base}absent`];
  }
}

/** The Pub/Sub channel on which a process hears that its waiters were given their locks. */
export function lockChannel(prefix: string, processId: string): string {
  return `${prefix}:lock-granted:${processId}`;
}

// Braces would move a key to another cluster slot, control characters would garble redis-cli. The percent sign
// too, so that two names never share a key.
// eslint-disable-next-line no-control-regex
const UNSAFE = /[%{}\u0000-\u001f\u007f-\u009f\u2028\u2029]/g;

function encode(name: string): string {
  return name.replace(UNSAFE, encodeURIComponent);
}
