/** Which handler runs which type of job. Filled at boot, read by the workers. */
import { ConfigurationError } from '../errors/errors.js';
import type { PayloadClass } from '../job/job-definition.js';
import type { JobHandlerOptions } from '../options/options.js';
import type { JobContext } from './job-context.js';

export interface RegisteredHandler {
  readonly queue: string;
  readonly type: string;
  /** For people: `MailHandlers.send`. */
  readonly label: string;
  readonly payload: PayloadClass | undefined;
  readonly options: JobHandlerOptions;
  readonly invoke: (payload: unknown, job: JobContext) => unknown;
}

export class HandlerRegistry {
  private readonly handlers = new Map<string, RegisteredHandler>();

  /** @throws ConfigurationError when the type already has a handler in that queue. */
  register(handler: RegisteredHandler): void {
    const key = `${handler.queue}:${handler.type}`;
    const other = this.handlers.get(key);
    if (other) {
      throw new ConfigurationError(
        `@JobHandler('${handler.type}')`,
        handler.label,
        `is already handled by ${other.label} in queue "${handler.queue}"; a job type has one handler`,
      );
    }
    this.handlers.set(key, handler);
  }

  find(queue: string, type: string): RegisteredHandler | undefined {
    return this.handlers.get(`${queue}:${type}`);
  }

  list(): readonly RegisteredHandler[] {
    return [...this.handlers.values()];
  }
}
