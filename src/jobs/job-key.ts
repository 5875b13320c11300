/** Builds the keys of jobs from what users wrote: readable where possible, and never one key for two things. */
import { createHash } from 'node:crypto';

/** Short enough that a key of three parts has room, and nothing that means something in a key. */
const PLAIN = /^[\w.@+-]{1,32}$/;

/** `user:42`. A part that is long, or holds other characters, becomes `#` and a digest. */
export function jobKey(kind: string, ...parts: readonly string[]): string {
  return [kind, ...parts.map((part) => (PLAIN.test(part) ? part : digestOf(part)))].join(':');
}

/** For a part that nobody shall read in a key. */
export function digestOf(part: string): string {
  return `#${createHash('sha256').update(part).digest('base64url').slice(0, 22)}`;
}
