/** `@WithLock`: a method that only runs while it holds a lock. */
import { AsyncLocalStorage } from 'node:async_hooks';
import { Inject } from '@nestjs/common';
import { ConfigurationError } from '../errors/errors.js';
import type { LockOptions } from '../options/lock-options.js';
import type { Lease } from './lease.js';
import { LockService } from './lock.service.js';

type Method<A extends unknown[], R> = (...args: A) => Promise<R>;

const LOCKS = Symbol('fenceline:locks');
const leases = new AsyncLocalStorage<Lease>();

/** The lease of the innermost `@WithLock` method that is running: for its signal and its fencing token. */
export function currentLease(): Lease | undefined {
  return leases.getStore();
}

/**
 * Runs the method while holding a lock. It throws what `LockService.using` throws.
 * Works on every class that Nest makes: providers of any scope, controllers, resolvers.
 * @param name the lock's, or what makes it from the call's arguments: `@WithLock(([id]) => `invoice:${id}`)`
 */
export function WithLock<A extends unknown[]>(
  name: string | ((args: A) => string),
  options: LockOptions = {},
) {
  return <R>(
    prototype: object,
    property: string | symbol,
    descriptor: TypedPropertyDescriptor<Method<A, R>>,
  ): void => {
    const method = descriptor.value;
    if (!method) throw new ConfigurationError(String(property), undefined, '@WithLock belongs on a method');
    injectLocks(prototype);
    const locked: Method<A, R> = async function locked(this: object, ...args) {
      const locks: unknown = Reflect.get(this, LOCKS);
      if (!(locks instanceof LockService)) {
        const mend =
          '@WithLock needs an instance that Nest made of the class: not `new`, `useValue` or `useFactory`';
        throw new ConfigurationError(`${this.constructor.name}.${String(property)}`, locks, mend);
      }
      const lockName = typeof name === 'string' ? name : name(args);
      return locks.using(lockName, options, (lease) => leases.run(lease, () => method.apply(this, args)));
    };
    keepAppearance(method, locked);
    descriptor.value = locked;
  };
}

/** As if the class had the property `@Inject(LockService)`: Nest then resolves it, or fails at boot and says so. */
function injectLocks(prototype: object): void {
  if (Object.hasOwn(prototype, LOCKS)) return;
  Object.defineProperty(prototype, LOCKS, { value: undefined, writable: true });
  Inject(LockService)(prototype, LOCKS);
}

/** Other decorators may have left metadata on the method (routes, guards, `@JobHandler`), and may look at its name. */
function keepAppearance(from: object, to: object): void {
  for (const key of Reflect.getOwnMetadataKeys(from)) {
    Reflect.defineMetadata(key, Reflect.getMetadata(key, from), to);
  }
  for (const property of ['name', 'length']) {
    const descriptor = Object.getOwnPropertyDescriptor(from, property);
    if (descriptor) Object.defineProperty(to, property, descriptor);
  }
}
