/** The `rebuild_cache` job, and the resource it is about. */
import { defineJob } from '@fenceline/nestjs';
import { Matches } from 'class-validator';

/** Characters that mean nothing in a Redis key, so that no two resources can share one. */
const NAME = /^[\w.-]{1,64}$/;
const RULE = { message: '$property must be 1 to 64 letters, digits, dots, dashes or underscores' };

/** Names one resource of one tenant: the job's payload, and the path of `GET /caches/…`. */
export class ResourceRef {
  @Matches(NAME, RULE)
  readonly tenantId!: string;

  @Matches(NAME, RULE)
  readonly resourceId!: string;
}

export const RebuildCache = defineJob('rebuild_cache', ResourceRef);
