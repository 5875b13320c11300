/** Writes one structured line per event. */
import { Logger } from '@nestjs/common';
import type { JobEventMap, JobEventName, JobEvents } from '../events/job-events.js';
import { EVENT_LINES, type EventFields, type EventLevel } from './job-event-fields.js';

/** The part of Nest's `LoggerService` that is used. */
export interface EventLogger {
  log(message: unknown): unknown;
  warn(message: unknown): unknown;
  error(message: unknown): unknown;
  debug?(message: unknown): unknown;
}

/** Who is speaking where an event names no worker: which process enqueued, reaped, pruned, paused. */
export interface WorkerContext {
  readonly workerId?: string;
}

/** A line as it is logged in the format `object`. */
export type EventLine = Readonly<Record<string, string | number | boolean>>;

export class JobEventLogger {
  constructor(
    private readonly logger: EventLogger,
    private readonly format: 'text' | 'object',
    private readonly workerContext: WorkerContext = {},
  ) {}

  /**
   * Subscribes to the events whose level is enabled now; the returned function unsubscribes. The others are
   * left alone, because emitters build an event's data as soon as anybody listens. So a level that is
   * switched on later stays silent; one that is switched off later costs a check per event.
   */
  subscribe(events: JobEvents): () => void {
    const names = Object.keys(EVENT_LINES).filter(isEventName);
    const stops = names
      .filter((event) => this.isEnabled(EVENT_LINES[event].level))
      .map((event) => this.listen(events, event));
    return () => {
      for (const stop of stops) stop();
    };
  }

  private listen<E extends JobEventName>(events: JobEvents, event: E): () => void {
    const { level, fields } = EVENT_LINES[event];
    return events.on(event, (data: JobEventMap[E]) => {
      if (!this.isEnabled(level)) return;
      const line = this.toLine(event, fields(data));
      this.logger[level]?.(this.format === 'text' ? toLogfmt(line) : line);
    });
  }

  private toLine(event: JobEventName, fields: EventFields): EventLine {
    const line: Record<string, string | number | boolean> = { event };
    for (const [name, value] of Object.entries<EventFields[keyof EventFields]>({ ...fields })) {
      if (value !== undefined) line[name] = value;
    }
    if (line['worker_id'] === undefined && this.workerContext.workerId !== undefined) {
      line['worker_id'] = this.workerContext.workerId;
    }
    return line;
  }

  private isEnabled(level: EventLevel): boolean {
    const ownedByNest = this.logger instanceof Logger;
    // Nest's Logger hands on to the app's logger, which may decide by itself: a ConsoleLogger has its own levels.
    const target: unknown = ownedByNest ? this.logger.localInstance : this.logger;
    if (!isLogger(target) || typeof target[level] !== 'function') return false;
    if (knowsLevels(target)) return target.isLevelEnabled(level);
    return !ownedByNest || Logger.isLevelEnabled(level);
  }
}

/** `undefined` is what Nest has for a logger when the app logs nothing (`logger: false`). */
function isLogger(target: unknown): target is EventLogger {
  return typeof target === 'object' && target !== null;
}

function knowsLevels(
  target: EventLogger,
): target is EventLogger & { isLevelEnabled(level: EventLevel): boolean } {
  return 'isLevelEnabled' in target && typeof target.isLevelEnabled === 'function';
}

function isEventName(name: string): name is JobEventName {
  return Object.hasOwn(EVENT_LINES, name);
}

/** `name=value` pairs on one line. A value that would be ambiguous is quoted as in JSON. */
function toLogfmt(line: EventLine): string {
  return Object.entries(line)
    .map(([name, value]) => `${name}=${quoteIfNeeded(String(value))}`)
    .join(' ');
}

// eslint-disable-next-line no-control-regex
const AMBIGUOUS = /[\s"=\\\u0000-\u001f\u007f-\u009f]/;
// What JSON leaves as it is although terminals and log readers see a command or a line break in it.
// eslint-disable-next-line no-control-regex
const UNESCAPED_BY_JSON = /[\u007f-\u009f\u2028\u2029]/g;

function quoteIfNeeded(value: string): string {
  if (value !== '' && !AMBIGUOUS.test(value)) return value;
  return JSON.stringify(value).replace(
    UNESCAPED_BY_JSON,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
}
