/** What happens to idempotency keys: counted, and told to whoever listens. A listener that throws harms nobody. */
import type { FencingToken } from '../job/job.js';

export const IDEMPOTENCY_EVENTS = [
  /** The operation was claimed and runs. */
  'started',
  /** It was claimed from an owner whose lease had run out. */
  'taken_over',
  /** It was done already; the stored result was given again. */
  'replayed',
  /** Refused: the key stands for another operation. */
  'conflict',
  /** Refused: it still runs elsewhere. */
  'busy',
  /** It ended and its result is stored. */
  'done',
  /** It ended without a result that is to be kept; the next one runs it again. */
  'released',
  /** The owner noticed that its claim is no longer its own. */
  'lost',
  /** The store refused a result because its owner had lost the claim; the result was dropped. */
  'stale_refused',
  /** It ended, but its result cannot be kept: too large, streamed, not JSON. */
  'unreplayable',
  /** It ended, and the store could not be told: it will run again when it is repeated. */
  'unrecorded',
  /** The store could not be reached, and the handler ran without protection, as its options say. */
  'failed_open',
] as const;
export type IdempotencyEventName = (typeof IDEMPOTENCY_EVENTS)[number];

export interface IdempotencyEvent {
  readonly event: IdempotencyEventName;
  readonly key: string;
  readonly fencingToken?: FencingToken;
  readonly reason?: string;
}

export type IdempotencyListener = (event: IdempotencyEvent) => void;

/** The part of Nest's `LoggerService` that is used. */
export interface IdempotencyLogger {
  warn(message: string): unknown;
}

/** What a person should see. The rest is everyday business. */
const LOGGED: ReadonlySet<IdempotencyEventName> = new Set([
  'lost',
  'stale_refused',
  'unreplayable',
  'unrecorded',
  'failed_open',
]);

export class IdempotencyEvents {
  private readonly listeners = new Set<IdempotencyListener>();
  private readonly totals = new Map<IdempotencyEventName, number>();

  constructor(private readonly logger?: IdempotencyLogger) {}

  /** Subscribes to all events; the returned function unsubscribes. */
  on(listener: IdempotencyListener): () => void {
    this.listeners.add(listener);
    return () => void this.listeners.delete(listener);
  }

  /** How often each happened in this process. */
  counts(): Readonly<Record<IdempotencyEventName, number>> {
    const counts = { ...NONE };
    for (const [event, total] of this.totals) counts[event] = total;
    return counts;
  }

  emit(data: IdempotencyEvent): void {
    const { event } = data;
    this.totals.set(event, (this.totals.get(event) ?? 0) + 1);
    if (LOGGED.has(event)) this.logger?.warn(toLine(data));
    for (const listener of [...this.listeners]) {
      try {
        listener(data);
      } catch (error) {
        this.logger?.warn(`A listener of idempotency events failed: ${String(error)}`);
      }
    }
  }
}

const NONE: Readonly<Record<IdempotencyEventName, number>> = {
  started: 0,
  taken_over: 0,
  replayed: 0,
  conflict: 0,
  busy: 0,
  done: 0,
  released: 0,
  lost: 0,
  stale_refused: 0,
  unreplayable: 0,
  unrecorded: 0,
  failed_open: 0,
};

/** In the form of the job events' lines; the key is quoted because callers choose it. */
function toLine({ event, key, fencingToken, reason }: IdempotencyEvent): string {
  const token = fencingToken === undefined ? '' : ` fencing_token=${fencingToken}`;
  const why = reason === undefined ? '' : ` reason=${JSON.stringify(reason)}`;
  return `event=idempotency_${event} idempotency_key=${JSON.stringify(key)}${token}${why}`;
}
