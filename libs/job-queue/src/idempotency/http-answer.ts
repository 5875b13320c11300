/** An answer as it goes over the wire, and as it stands in an idempotency record. */
import { isRecord } from '../options/option-checks.js';

export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Readonly<Record<string, string | readonly string[]>>;
  readonly body: string | Uint8Array | undefined;
  /** It tells the client to try again, so that the same request may well fare better then. */
  readonly asksToRepeat?: boolean;
}

/** Timeout, too early, too many requests; and whatever says when to come back. */
export function asksToRepeat(status: number, retryAfter: unknown): boolean {
  return status >= 400 && ([408, 425, 429].includes(status) || retryAfter !== undefined);
}

/** Why a record only says that the operation was done. */
export type UnreplayableReason = 'too_large' | 'streamed' | 'unreadable';

export type StoredAnswer =
  | { readonly kind: 'answer'; readonly answer: Answer }
  | { readonly kind: 'unreplayable'; readonly reason: string; readonly status: number | undefined };

export interface AnswerRecord {
  readonly text: string;
  readonly unreplayable?: UnreplayableReason;
}

/** Too large an answer is marked as such: cut short it would be a wrong one. */
export function writeAnswer({ status, headers, body }: Answer, limitBytes: number): AnswerRecord {
  const bytes = typeof body === 'string' ? Buffer.byteLength(body) : (body?.byteLength ?? 0);
  // Before it is encoded, which takes the most memory just where it is in vain.
  if (bytes > limitBytes) return writeUnreplayable(status, 'too_large');
  const text = JSON.stringify({
    status,
    headers,
    ...(typeof body === 'string' && { text: body }),
    ...(body instanceof Uint8Array && { base64: Buffer.from(body).toString('base64') }),
  });
  return Buffer.byteLength(text) > limitBytes ? writeUnreplayable(status, 'too_large') : { text };
}

export function writeUnreplayable(status: number, unreplayable: UnreplayableReason): AnswerRecord {
  return { text: JSON.stringify({ status, unreplayable }), unreplayable };
}

export function readAnswer(text: string): StoredAnswer {
  const record = parse(text);
  if (!isRecord(record) || typeof record['status'] !== 'number') {
    return { kind: 'unreplayable', reason: 'unreadable', status: undefined };
  }
  const { status, unreplayable, headers, text: body, base64 } = record;
  if (typeof unreplayable === 'string') return { kind: 'unreplayable', reason: unreplayable, status };
  return {
    kind: 'answer',
    answer: {
      status,
      headers: pickHeaders(isRecord(headers) ? Object.entries(headers) : []),
      body:
        typeof base64 === 'string'
          ? Buffer.from(base64, 'base64')
          : typeof body === 'string'
            ? body
            : undefined,
    },
  };
}

/** Leaves out what has no value. */
export function pickHeaders(entries: Iterable<readonly [string, unknown]>): Answer['headers'] {
  const picked: Record<string, string | readonly string[]> = {};
  for (const [name, value] of entries) {
    if (typeof value === 'string' || typeof value === 'number') picked[name] = String(value);
    else if (Array.isArray(value)) picked[name] = value.map(String);
  }
  return picked;
}

/** What interceptors further out see of a replayed answer: what the handler may have returned. */
export function bodyValue({ headers, body }: Answer): unknown {
  if (typeof body !== 'string') return body;
  const type = headers['content-type'];
  return typeof type === 'string' && type.includes('json') ? parse(body) : body;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
