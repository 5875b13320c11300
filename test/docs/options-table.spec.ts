/** The option tables of the README: no option is missing, none is invented, and every default is the real one. */
import { describe, expect, it } from '@jest/globals';
import { JobQueueModule } from '@fenceline/nestjs';
import type { HealthIndicatorService } from '@nestjs/terminus';
import { InvalidOptionError } from '#lib/errors/errors.js';
import { QueueSource, WorkerSource } from '#lib/health/health-sources.js';
import { LeaseHealthIndicator } from '#lib/health/lease.health.js';
import { QueueHealthIndicator } from '#lib/health/queue.health.js';
import { WorkerHealthIndicator } from '#lib/health/worker.health.js';
import { DEFAULTS, HEALTH_DEFAULTS, INTERNAL } from '#lib/options/defaults.js';
import { checkEnqueueOptions } from '#lib/options/enqueue-options.js';
import { checkHandlerOptions } from '#lib/options/handler-options.js';
import { resolveRunOptions } from '#lib/options/idempotency-options.js';
import { resolveIdempotentOptions } from '#lib/options/idempotent-options.js';
import { resolveLockOptions, resolveTryAcquireOptions } from '#lib/options/lock-options.js';
import { resolveOptions } from '#lib/options/resolve-options.js';
import { codeSpans, readDocument, type Row, tables } from './markdown.js';

const README = readDocument('README.md');
const [
  moduleRows = [],
  queueRows = [],
  handlerRows = [],
  enqueueRows = [],
  lockRows = [],
  idempotencyRows = [],
  healthRows = [],
] = tables(README, 'Option', '## Options');

/** A name that is near no option's, so that the refusal lists them all. */
const UNKNOWN = '~';

/** The names that a check itself says it takes. */
function namesKnownTo(check: (given: object) => unknown): string[] {
  try {
    check({ [UNKNOWN]: 1 });
  } catch (error) {
    if (error instanceof InvalidOptionError) return listed(error.mend);
    throw error;
  }
  throw new Error('an unknown option was accepted');
}

function listed(mend: string): string[] {
  return /there are: ([\w, ]+)/.exec(mend)?.[1]?.trim().split(', ') ?? [];
}

const moduleCheck = (given: object): unknown => resolveOptions(given);
const queueCheck = (given: object): unknown => resolveOptions({ queues: [{ name: 'jobs', ...given }] });
const under = (name: string, names: readonly string[]): string[] => names.map((inner) => `${name}.${inner}`);
const backoffNames = namesKnownTo((backoff) => queueCheck({ backoff }));

/** A nested group is documented by its members. */
function replace(names: readonly string[], group: string, members: readonly string[]): string[] {
  return names.flatMap((name) => (name === group ? members : [name]));
}

function flatten(value: object, path = ''): [string, unknown][] {
  return Object.entries(value).flatMap(([name, inner]: [string, unknown]) =>
    typeof inner === 'object' && inner !== null
      ? flatten(inner, `${path}${name}.`)
      : [[`${path}${name}`, inner] as [string, unknown]],
  );
}

const namesIn = (rows: readonly Row[]): string[] => rows.flatMap(({ Option }) => codeSpans(Option));

/** The defaults that are written as code; the others are words. */
function defaultsIn(rows: readonly Row[]): Record<string, unknown> {
  return Object.fromEntries(
    rows.flatMap(({ Option, Default }) => {
      const [code] = codeSpans(Default);
      return code === undefined ? [] : [[codeSpans(Option)[0] ?? '', parseLiteral(code)]];
    }),
  );
}

function parseLiteral(code: string): unknown {
  if (/^[\d_]+$/.test(code)) return Number(code.replaceAll('_', ''));
  return JSON.parse(code.replace(/(\w+):/g, '"$1":').replaceAll("'", '"'));
}

describe('the options of the README', () => {
  it('are all options of the module', () => {
    const inner = namesKnownTo((maintenance) => moduleCheck({ maintenance }));
    const names = replace(namesKnownTo(moduleCheck), 'maintenance', under('maintenance', inner));
    // The module builder's own option; it never reaches resolveOptions.
    expect(namesIn(moduleRows).toSorted()).toEqual([...names, 'isGlobal'].toSorted());
    const { queue, enqueue: _enqueue, lock: _lock, idempotency: _idempotency, ...ours } = DEFAULTS;
    expect(defaultsIn(moduleRows)).toEqual({
      ...Object.fromEntries(flatten(ours)),
      connection: resolveOptions({}).connection,
      queues: [{ name: queue.name }],
      isGlobal: JobQueueModule.forRoot({}).global,
    });
  });

  it('are all options of a queue', () => {
    const statuses = namesKnownTo((retention) => queueCheck({ retention }));
    const limits = namesKnownTo((done) => queueCheck({ retention: { done } }));
    const retained = statuses.flatMap((status) => under(`retention.${status}`, limits));
    const all = namesKnownTo(queueCheck);
    const names = replace(replace(all, 'backoff', under('backoff', backoffNames)), 'retention', retained);
    expect(namesIn(queueRows).toSorted()).toEqual(names.toSorted());
    expect(defaultsIn(queueRows)).toEqual(Object.fromEntries(flatten(DEFAULTS.queue)));
  });

  it('are all options of a handler', () => {
    const names = namesKnownTo((given) => checkHandlerOptions('Handlers.run', given));
    expect(namesIn(handlerRows).toSorted()).toEqual(names.toSorted());
    expect(defaultsIn(handlerRows)).toEqual({});
    const backoff = handlerRows.find(({ Option }) => Option === '`backoff`');
    expect(codeSpans(backoff?.['Effect']).toSorted()).toEqual(backoffNames.toSorted());
  });

  it('are all options of an enqueue', () => {
    const inner = (group: 'idempotencyKey' | 'dedup'): string[] => [
      group,
      ...under(
        group,
        namesKnownTo((given) => checkEnqueueOptions({ [group]: given })),
      ),
    ];
    const plain = namesKnownTo((given) => checkEnqueueOptions(given));
    const names = replace(replace(plain, 'idempotencyKey', inner('idempotencyKey')), 'dedup', inner('dedup'));
    expect(namesIn(enqueueRows).toSorted()).toEqual(names.toSorted());
    const { idempotency: idempotencyKey, ...others } = DEFAULTS.enqueue;
    expect(defaultsIn(enqueueRows)).toEqual(Object.fromEntries(flatten({ ...others, idempotencyKey })));
  });

  it('are all things a duplicate can do', () => {
    const row = enqueueRows.find(({ Option }) => Option === '`dedup.onDuplicate`');
    const check = (onDuplicate: string) => () =>
      checkEnqueueOptions({ dedup: { key: 'k', onDuplicate } } as object);
    const listedModes = codeSpans(row?.['Effect']).map((code) => code.replaceAll("'", ''));
    for (const mode of listedModes) expect(check(mode)).not.toThrow();
    expect(check(UNKNOWN)).toThrow(`must be one of ${listedModes.join(', ')}`);
  });

  it('are all options of a lock', () => {
    const names = namesKnownTo((given) => resolveLockOptions(given));
    expect(namesIn(lockRows).toSorted()).toEqual(names.toSorted());
    expect(defaultsIn(lockRows)).toEqual(DEFAULTS.lock);
    expect(namesKnownTo((given) => resolveTryAcquireOptions(given))).toEqual(['ttlMs']);
  });

  it('are all options of an operation', () => {
    const names = namesKnownTo((given) => resolveRunOptions(given));
    expect(namesIn(idempotencyRows).toSorted()).toEqual(names.toSorted());
    expect(defaultsIn(idempotencyRows)).toEqual(DEFAULTS.idempotency);
    const first = namesIn(idempotencyRows).slice(0, 4);
    expect(namesKnownTo((given) => resolveIdempotentOptions(given))).toEqual(expect.arrayContaining(first));
  });

  it('are all options of the health indicators', async () => {
    const names = await Promise.all([
      namesOfCheck((health, queues) => new QueueHealthIndicator(health, queues)),
      namesOfCheck((health, queues) => new LeaseHealthIndicator(health, queues)),
      namesOfCheck(
        (health) => new WorkerHealthIndicator(health, { workers: () => [] } satisfies WorkerSource),
      ),
    ]);
    const ofIndicator = (indicator: string): string[] =>
      namesIn(healthRows.filter(({ Indicator = '' }) => [indicator, 'all three'].includes(Indicator)));
    expect(['queue', 'lease', 'worker'].map((indicator) => ofIndicator(indicator).toSorted())).toEqual(
      names.map((list) => list.toSorted()),
    );
    expect(defaultsIn(healthRows)).toEqual({ ...HEALTH_DEFAULTS, windowMs: INTERNAL.leaseWindowMs });
  });
});

interface Indicator {
  isHealthy(key: string, options: object): Promise<Record<string, unknown>>;
}

/** An indicator never throws: it says in its result what it does not know. */
async function namesOfCheck(
  create: (health: HealthIndicatorService, queues: QueueSource) => Indicator,
): Promise<string[]> {
  const health = {
    check: (key: string) => ({ down: (details: object) => ({ [key]: details }) }),
  } as unknown as HealthIndicatorService;
  const queues: QueueSource = {
    queueNames: () => [],
    dataLossOf: () => undefined,
    store: () => {
      throw new Error('nothing is asked before the options are checked');
    },
  };
  const result = await create(health, queues).isHealthy('check', { [UNKNOWN]: 1 });
  return listed(JSON.stringify(result['check']));
}
