/** Turns the options users wrote into complete ones, or says which of them cannot work and why. */
import { ConfigurationError } from '../errors/errors.js';
import { checkName } from '../job/names.js';
import { DEFAULTS } from './defaults.js';
import {
  booleanOption,
  choiceOption,
  integerOption,
  type Keys,
  isRecord,
  LIMITS,
  nameOption,
  optionalRecord,
  refuseUnknownKeys,
} from './option-checks.js';
import type { JobQueueModuleOptions, MaintenanceOptions } from './options.js';
import { resolveConnection, type ResolvedConnection } from './resolve-connection.js';
import { resolveQueue, type ResolvedQueueOptions } from './resolve-queue.js';

export type { ResolvedQueueOptions } from './resolve-queue.js';

export interface ResolvedOptions {
  readonly connection: ResolvedConnection;
  /** `false` when `connection` was left out and the jobs therefore live in memory: worth a warning. */
  readonly connectionGiven: boolean;
  readonly prefix: string;
  /** The first one is the default queue. */
  readonly queues: readonly [ResolvedQueueOptions, ...ResolvedQueueOptions[]];
  readonly worker: boolean;
  readonly shutdownTimeoutMs: number;
  readonly commandTimeoutMs: number;
  readonly maintenance: Readonly<Required<MaintenanceOptions>>;
  readonly logging: 'text' | 'object' | false;
}

/** What stands between the prefix and the name in the keys that belong to no queue. */
const KEY_KINDS = ['lock', 'fenced', 'idempotency'];

const MODULE_KEYS: Keys<JobQueueModuleOptions> = {
  connection: true,
  prefix: true,
  queues: true,
  worker: true,
  shutdownTimeoutMs: true,
  commandTimeoutMs: true,
  maintenance: true,
  logging: true,
};
const MAINTENANCE_KEYS: Keys<MaintenanceOptions> = {
  reapIntervalMs: true,
  promoteIntervalMs: true,
  pruneIntervalMs: true,
};

/** @throws ConfigurationError naming the first option that cannot work. */
export function resolveOptions(options: JobQueueModuleOptions): ResolvedOptions {
  // What arrives is what JavaScript, JSON or an environment variable made of it, whatever the type says.
  const given: unknown = options;
  if (!isRecord(given)) {
    throw new ConfigurationError('options', given, 'must be an object; did the factory forget to return it?');
  }
  refuseUnknownKeys('', given, MODULE_KEYS);
  const connection = resolveConnection(given.connection);
  const { timer, timerOrNone } = LIMITS;
  const commandTimeoutMs = integerOption(
    'commandTimeoutMs',
    given.commandTimeoutMs,
    DEFAULTS.commandTimeoutMs,
    timer,
  );
  return {
    connection,
    connectionGiven: given.connection !== undefined,
    prefix: resolvePrefix(given.prefix),
    queues: resolveQueues(given.queues, commandTimeoutMs),
    worker: booleanOption('worker', given.worker, DEFAULTS.worker),
    shutdownTimeoutMs: integerOption(
      'shutdownTimeoutMs',
      given.shutdownTimeoutMs,
      DEFAULTS.shutdownTimeoutMs,
      timerOrNone,
    ),
    commandTimeoutMs,
    maintenance: resolveMaintenance(given.maintenance),
    logging: choiceOption('logging', given.logging, DEFAULTS.logging, ['text', 'object', false]),
  };
}

function resolvePrefix(given: unknown): string {
  if (given === undefined) return DEFAULTS.prefix;
  const prefix = nameOption('prefix', given, checkName);
  if (prefix.length > LIMITS.prefixLength) {
    const mend = `must have at most ${LIMITS.prefixLength} characters: it stands in front of every key`;
    throw new ConfigurationError('prefix', prefix, mend);
  }
  // The queues of "fl:lock" would be the locks of "fl".
  const ending = KEY_KINDS.find((kind) => prefix.endsWith(`:${kind}`));
  if (ending !== undefined) {
    const mend = `must not end with ":${ending}", as keys of the prefix in front of it do`;
    throw new ConfigurationError('prefix', prefix, mend);
  }
  return prefix;
}

function resolveQueues(given: unknown, commandTimeoutMs: number): ResolvedOptions['queues'] {
  const list: unknown = given === undefined ? [{ name: DEFAULTS.queue.name }] : given;
  if (!Array.isArray(list)) {
    throw new ConfigurationError('queues', list, "must be an array such as [{ name: 'jobs' }]");
  }
  const [first, ...others] = list.map((queue: unknown, index) =>
    resolveQueue(`queues[${index}]`, queue, commandTimeoutMs),
  );
  if (first === undefined) {
    const mend = `must name at least one queue; leave it out to get one called "${DEFAULTS.queue.name}"`;
    throw new ConfigurationError('queues', list, mend);
  }
  const seen = new Map<string, number>();
  [first, ...others].forEach(({ name }, index) => {
    const earlier = seen.get(name);
    if (earlier !== undefined) {
      throw new ConfigurationError(
        `queues[${index}].name`,
        name,
        `is already the name of queues[${earlier}]`,
      );
    }
    seen.set(name, index);
  });
  return [first, ...others];
}

function resolveMaintenance(value: unknown): ResolvedOptions['maintenance'] {
  const given = optionalRecord('maintenance', value);
  refuseUnknownKeys('maintenance.', given, MAINTENANCE_KEYS);
  const interval = (option: keyof MaintenanceOptions): number =>
    integerOption(
      `maintenance.${option}`,
      given[option],
      DEFAULTS.maintenance[option],
      LIMITS.maintenanceInterval,
    );
  return {
    reapIntervalMs: interval('reapIntervalMs'),
    promoteIntervalMs: interval('promoteIntervalMs'),
    pruneIntervalMs: interval('pruneIntervalMs'),
  };
}
