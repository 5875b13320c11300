/** The optional `jobId` of a request: whoever repeats a request with the same one gets the same job. */
import { applyDecorators } from '@nestjs/common';
import { IsString, NotEquals, ValidateIf } from 'class-validator';

/** Which ids are possible is checked by the library, except for the two that no URL can hold. */
export function OptionalJobId(): PropertyDecorator {
  return applyDecorators(
    // Not IsOptional: that would let `null` through.
    ValidateIf((body: { jobId?: unknown }) => body.jobId !== undefined),
    IsString(),
    NotEquals('.'),
    NotEquals('..'),
  );
}
