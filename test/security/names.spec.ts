/** Whatever names users choose: they are refused, or lie under the documented keys in one slot, and no two share a key. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { Injectable, Module, type INestApplicationContext } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import {
  IdempotencyService,
  InvalidOptionError,
  JobHandler,
  JobQueueModule,
  LockService,
  QueueInspector,
  QueueService,
  type EnqueueOptions,
  type JobContext,
} from '@fenceline/nestjs';
import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { startServer, type StartedServer } from '#scripts/find-redis.mjs';
import { patternsOf } from '../docs/key-patterns.js';
import { readDocument, table } from '../docs/markdown.js';
import { eventually } from '../support/eventually.js';
import { openRedis } from '../support/redis.js';
import { escapes, namePair, nastyName } from './nasty-names.js';

const KEYS_DOCUMENT = readDocument('docs/redis-keys.md');
const OF_QUEUE = patternsOf(table(KEYS_DOCUMENT, 'Key', '## Every key'));
const OUTSIDE = patternsOf(table(KEYS_DOCUMENT, 'Key', '## Keys outside of queues'));

const META = 'fl:{jobs}:meta';

@Injectable()
class Handlers {
  @JobHandler('note')
  async note(payload: { name: string }, job: JobContext): Promise<string> {
    await job.checkpoint.set(payload.name);
    return payload.name;
  }
}

let server: StartedServer;
let redis: Redis;
let app: INestApplicationContext;
/** Keys that were looked at already. */
const seen = new Set<string>();

beforeAll(async () => {
  // As a node of a cluster Redis itself refuses a script that touches two slots.
  server = await startServer({ args: ['--cluster-enabled', 'yes'] });
  redis = openRedis(server.url);
  await redis.call('CLUSTER', 'ADDSLOTSRANGE', 0, 16_383);
  await eventually(async () => String(await redis.call('CLUSTER', 'INFO')).includes('cluster_state:ok'));
  app = await startApp('fl', 'jobs', true);
});
afterEach(async () => void (await newKeys()));
afterAll(async () => {
  await app.close();
  redis.disconnect();
  await server.stop();
});

async function startApp(prefix: string, queue: string, worker: boolean): Promise<INestApplicationContext> {
  @Module({
    imports: [
      JobQueueModule.forRoot({
        connection: { url: server.url },
        prefix,
        queues: [{ name: queue }],
        worker,
        logging: false,
      }),
    ],
    providers: worker ? [Handlers] : [],
  })
  class NamesModule {}
  return NestFactory.createApplicationContext(NamesModule, { logger: false, abortOnError: false });
}

/** What a worker writes also when there are no jobs. */
const BY_THE_WAY = /^fl:\{jobs\}:(workers|worker:.*|held:.*|meta|wake|stats.*)$/;

/** Keys that are new since the last look, but for those that a worker writes by the way. Each must be a documented one. */
async function newKeys(): Promise<string[]> {
  const keys = (await redis.keys('*')).filter((key) => !seen.has(key));
  for (const key of keys) {
    seen.add(key);
    const inQueue = key.startsWith('fl:{jobs}:');
    const name = key.slice(inQueue ? 'fl:{jobs}:'.length : 'fl:'.length);
    const documented = (inQueue ? OF_QUEUE : OUTSIDE).filter(({ matches }) => matches.test(name));
    expect([key, documented.length]).toEqual([key, 1]);
    expect(escapes(key)).toBe(false);
  }
  return keys.filter((key) => !BY_THE_WAY.test(key));
}

async function slotsOf(keys: readonly string[]): Promise<Set<unknown>> {
  return new Set(await Promise.all(keys.map((key) => redis.call('CLUSTER', 'KEYSLOT', key))));
}

/** `undefined` when a name was refused, as an error that names the option. */
async function unlessRefused<T>(act: () => Promise<T>): Promise<T | undefined> {
  try {
    return await act();
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error;
    return undefined;
  }
}

const enqueue = (options: EnqueueOptions, name = 'x', type = 'note') =>
  unlessRefused(() => app.get(QueueService).enqueue(type, { name }, options));

const resultOf = (jobId: string): Promise<unknown> =>
  eventually(async () => {
    const job = await app.get(QueueInspector).get(jobId);
    return job.status === 'done' && { result: job.result };
  });

describe('names of a job', () => {
  const options = fc.record(
    {
      jobId: nastyName,
      resourceKey: nastyName,
      idempotencyKey: nastyName,
      dedup: fc.record({ key: nastyName }),
    },
    { requiredKeys: [] },
  );

  it('stay under the keys of their queue, in its slot', async () => {
    const slot = await slotsOf([META]);
    const property = fc.asyncProperty(options, async (chosen) => {
      const enqueued = await enqueue(chosen);
      if (enqueued && !enqueued.duplicate) await resultOf(enqueued.jobId);
      const keys = await newKeys();
      expect(enqueued === undefined ? keys : []).toEqual([]);
      expect(await slotsOf([...keys, META])).toEqual(slot);
    });
    await fc.assert(property, { numRuns: 100 });
  });

  it('of its type are refused or kept as they are, and are in no key', async () => {
    const property = fc.asyncProperty(nastyName, async (type) => {
      const enqueued = await enqueue({ delayMs: 60_000 }, 'x', type);
      const keys = await newKeys();
      expect(enqueued === undefined ? keys : []).toEqual([]);
      const kept = enqueued && (await app.get(QueueInspector).get(enqueued.jobId));
      expect([undefined, type]).toContain(kept?.type);
    });
    await fc.assert(property, { numRuns: 100 });
  });

  it.each(['jobId', 'resourceKey', 'idempotencyKey', 'dedup'] as const)(
    'never share a key: %s',
    async (option) => {
      let run = 0;
      const property = fc.asyncProperty(namePair, async ([a, b]) => {
        // The same pair may come again, while its keys still stand.
        const round = `${(run += 1)}/`;
        const jobs = [a, b].map((name) => {
          const unique = round + name;
          const chosen =
            option === 'dedup' ? { dedup: { key: unique, windowMs: 60_000 } } : { [option]: unique };
          return enqueue(chosen, name);
        });
        for (const [i, enqueued] of (await Promise.all(jobs)).entries()) {
          if (!enqueued) continue;
          expect(enqueued).toMatchObject({ duplicate: false });
          expect(await resultOf(enqueued.jobId)).toEqual({ result: [a, b][i] });
        }
      });
      await fc.assert(property, { numRuns: 40 });
    },
  );
});

describe('names outside of queues', () => {
  const locks = () => app.get(LockService);
  const lease = { owner: 'owner', fencingToken: 1 };

  it('of a lock, a fenced value or an operation have a slot each and stay under their keys', async () => {
    const property = fc.asyncProperty(nastyName, async (name) => {
      const uses = [
        () => locks().using(name, {}, () => true),
        () => locks().fencedSet(name, 'value', lease),
        () => app.get(IdempotencyService).run(name, {}, () => true),
      ];
      for (const use of uses) {
        await unlessRefused<unknown>(use);
        const keys = await newKeys();
        expect(keys.filter((key) => key.startsWith('fl:{jobs}:'))).toEqual([]);
        expect((await slotsOf(keys)).size).toBeLessThanOrEqual(1);
      }
    });
    await fc.assert(property, { numRuns: 150 });
  });

  it('never share a key', async () => {
    let run = 0;
    const property = fc.asyncProperty(namePair, async (pair) => {
      const round = `${(run += 1)}/`;
      const [a, b] = pair.map((name) => round + name);
      if (a === undefined || b === undefined) return;
      await unlessRefused(() =>
        locks().using(a, {}, async () => {
          const other = await unlessRefused(async () => ({ lease: await locks().tryAcquire(b) }));
          // Refused by its name, or held: never taken for the other one.
          expect(other === undefined || other.lease !== undefined).toBe(true);
          await other?.lease?.release();
        }),
      );
      for (const name of [a, b]) await unlessRefused(() => locks().fencedSet(name, name, lease));
      for (const name of [a, b]) {
        const value = await unlessRefused(() => locks().fencedGet(name));
        expect([undefined, name]).toContain(value?.value);
        const result = await unlessRefused(() => app.get(IdempotencyService).run(name, {}, () => name));
        expect([undefined, name]).toContain(result);
      }
    });
    await fc.assert(property, { numRuns: 100 });
  });
});

describe('prefixes and queue names', () => {
  it('are refused, or give every queue keys of its own', async () => {
    const property = fc.asyncProperty(nastyName, nastyName, async (prefix, queue) => {
      const other = await unlessRefused(() => startApp(prefix, queue, false));
      if (!other) return;
      try {
        const { jobId } = await other.get(QueueService).enqueue('note', {});
        const all = (await redis.keys('*')).filter((key) => !seen.has(key));
        const keys = all.filter((key) => !BY_THE_WAY.test(key));
        for (const key of keys) {
          seen.add(key);
          expect(key.startsWith(`${prefix}:{${queue}}:`)).toBe(true);
          expect(escapes(key)).toBe(false);
        }
        expect(keys).toContain(`${prefix}:{${queue}}:job:${jobId}`);
        expect((await slotsOf(keys)).size).toBe(1);
      } finally {
        await other.close();
      }
    });
    await fc.assert(property, { numRuns: 30 });
  });

  it.each(['fl:lock', 'fl:fenced', 'fl:idempotency'])(
    'are refused where another prefix has locks: %s',
    (prefix) => expect(startApp(prefix, 'jobs', false)).rejects.toThrow(/^prefix: must not end with ":\w+"/),
  );
});
