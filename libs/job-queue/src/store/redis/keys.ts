/**
 * The names of a queue's Redis keys. The scripts build the rest from the same base, so docs/redis-keys.md,
 * scripts/*.lua and this file are where a key is spelled out.
 */

/** All keys of a queue share the hash tag `{queue}`, hence one cluster slot. */
export class QueueKeys {
  private readonly base: string;

  constructor(prefix: string, queue: string) {
    this.base = `${prefix}:{${queue}}:`;
  }

  get meta(): string {
    return `${this.base}meta`;
  }

  /** Never exists; see scripts/prelude.lua. */
  get absent(): string {
    return `${this.base}absent`;
  }

  get wake(): string {
    return `${this.base}wake`;
  }

  checkpoint(jobId: string): string {
    return `${this.base}checkpoint:${jobId}`;
  }
}
