/** `@fenceline/nestjs/testing`: what tests of an app need beside the memory store. */
export { untilIdle, type UntilIdleOptions } from './until-idle.js';
