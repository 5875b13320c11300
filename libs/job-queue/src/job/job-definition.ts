/** A job's type together with the class of its payload: the name both sides share. */
import { checkName } from './names.js';

/** A class-validator class; its instances are what handlers receive. */
export type PayloadClass<P extends object = object> = new (...args: never[]) => P;

export interface JobDefinition<P extends object = object> {
  readonly type: string;
  readonly payload: PayloadClass<P>;
}

/**
 * Binds a job type to its payload class, for `enqueue` and `@JobHandler`.
 * @throws InvalidOptionError when the type is not a usable name.
 */
export function defineJob<P extends object>(type: string, payload: PayloadClass<P>): JobDefinition<P> {
  checkName('type', type);
  return Object.freeze({ type, payload });
}
