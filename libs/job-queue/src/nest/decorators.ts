/** The decorators that apps put on their methods. */
import { SetMetadata } from '@nestjs/common';
import type { JobDefinition } from '../job/job-definition.js';
import type { JobHandlerOptions } from '../options/options.js';

export const JOB_HANDLER_METADATA = 'fenceline:job-handler';

export interface JobHandlerMetadata {
  readonly job: JobDefinition | string;
  readonly options: JobHandlerOptions | undefined;
}

/**
 * Makes a provider's method the handler of a job type: `(payload, job: JobContext) => result`. The result,
 * if JSON, is stored with the job. An error is retried until the attempts are used up; `PermanentError`
 * buries the job at once.
 * @param job a definition, or the plain type (then `options.payload` may give the payload's class)
 * @throws ConfigurationError at boot: bad options, an unknown queue, a second handler for the type, a
 *   provider that is not a singleton
 */
export function JobHandler<P extends object>(
  job: JobDefinition<P> | string,
  options?: JobHandlerOptions,
): MethodDecorator {
  return SetMetadata<string, JobHandlerMetadata>(JOB_HANDLER_METADATA, { job, options });
}
