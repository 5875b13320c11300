/** The payloads of the bench: numbered, so that every delivery can be counted, and of an exact size. */
export interface BenchPayload {
  /** Position of the job in its run, from 0. */
  readonly seq: number;
  readonly userId: string;
  readonly email: string;
  readonly template: string;
  readonly body: string;
}

/** Bytes of JSON, the size every figure of the main table is measured with. */
export const USUAL_BYTES = 300;

/** `count` payloads of exactly `bytes` bytes of JSON, numbered from `from`. */
export function payloads(count: number, from = 0, bytes = USUAL_BYTES): BenchPayload[] {
  const empty = JSON.stringify(payload(0, '')).length;
  // One digit of the number is part of `empty`.
  const longest = 'x'.repeat(bytes - empty);
  return Array.from({ length: count }, (_, i) => {
    const seq = from + i;
    return payload(seq, longest.slice(String(seq).length - 1));
  });
}

function payload(seq: number, body: string): BenchPayload {
  return { seq, userId: 'u123', email: 'a@example.com', template: 'welcome', body };
}
