/**
 * docs/redis-keys.md against a real Redis that has seen every state: each key and hash field that is there is
 * documented, with its type, and each documented one was there.
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { INTERNAL } from '#lib/options/defaults.js';
import { STATS } from '#lib/store/job-store.js';
import { QueueKeys } from '#lib/store/redis/keys.js';
import { ScriptRunner } from '#lib/store/redis/script-runner.js';
import {
  LONG_MS,
  once,
  OUTCOMES,
  PASSED_MS,
  SHORT_MS,
  StoreDriver,
  unique,
  worker,
} from '../contract/contract-store.js';
import { openRedisStore, type RedisStoreHarness } from '../support/redis-store.js';
import { keysOf } from '../support/redis.js';
import { fieldsIn, patternsOf, toRegExp } from './key-patterns.js';
import { codeSpans, readDocument, table } from './markdown.js';

const DOCUMENT = readDocument('docs/redis-keys.md');

const patterns = patternsOf(table(DOCUMENT, 'Key', '## Every key'));

const fieldsUnder = (heading: string): string[] =>
  table(DOCUMENT, 'Field', heading).flatMap(({ Field }) => codeSpans(Field));

describe('docs/redis-keys.md', () => {
  let harness: RedisStoreHarness;
  /** Every key that was there at some time, without its base → type. */
  const seen = new Map<string, string>();
  /** Every field of the runs, the workers, the meta and the counters. */
  const seenFields = new Map<string, Set<string>>();
  const seenLocks = new Set<string>();
  const seenBlockedOn = new Set<string>();

  const look = async (): Promise<void> => {
    const { redis, prefix, key } = harness;
    const base = key('');
    for (const full of await keysOf(redis, prefix)) {
      expect(full.startsWith(base)).toBe(true);
      const name = full.slice(base.length);
      const type = await redis.type(full);
      // It may have gone since.
      if (type === 'none') continue;
      seen.set(name, type);
      const [kind = ''] = name.split(':');
      const fields = seenFields.get(kind) ?? new Set();
      seenFields.set(kind, fields);
      if (type === 'hash') for (const field of await redis.hkeys(full)) fields.add(field);
      if (kind === 'lock') seenLocks.add((await redis.get(full)) ?? '');
      const blockedOn = kind === 'run' ? await redis.hget(full, 'blocked_on') : null;
      if (blockedOn !== null) seenBlockedOn.add(blockedOn);
    }
  };

  beforeAll(async () => {
    harness = await openRedisStore();
    await bringIntoEveryState(harness, look);
    // As for the plain name of a queue that has partitions.
    const keys = new QueueKeys(harness.prefix, 'jobs');
    await new ScriptRunner(harness.connection, keys).run('record-partitions', [1, 8]);
    await look();
  });
  afterAll(() => harness.close());

  it('documents every key that is there, with its type', () => {
    const undocumented = [...seen].filter(
      ([name, type]) =>
        patterns.filter((pattern) => pattern.matches.test(name) && pattern.type === type).length !== 1,
    );
    expect(undocumented).toEqual([]);
  });

  it('documents no key that is never there', () => {
    const names = [...seen.keys()];
    expect(patterns.filter(({ matches }) => !names.some((name) => matches.test(name)))).toEqual([]);
  });

  it('documents the fields of a run', () => {
    expect([...(seenFields.get('run') ?? [])].toSorted()).toEqual(
      fieldsUnder('### Fields of run').toSorted(),
    );
  });

  it('documents the fields of a worker', () => {
    const documented = fieldsUnder('### Fields of worker');
    const real = [...(seenFields.get('worker') ?? [])];
    expect(real.filter((field) => !documented.some((pattern) => toRegExp(pattern).test(field)))).toEqual([]);
    expect(documented.filter((pattern) => !real.some((field) => toRegExp(pattern).test(field)))).toEqual([]);
  });

  it.each([
    ['meta', '`meta`'],
    ['dedup', '`dedup:<key>`'],
    ['idempotency', '`idempotency:<key>`'],
  ])('documents the fields of %s', (kind, name) => {
    const [row] = table(DOCUMENT, 'Key', '## Every key').filter(({ Key }) => Key === name);
    expect(seenFields.get(kind)).toEqual(new Set(fieldsIn(row)));
  });

  it('documents both kinds of values of a lock', () => {
    const [row] = table(DOCUMENT, 'Key', '## Every key').filter(({ Key }) => Key === '`lock:<kind>:<key>`');
    const forms = codeSpans(row?.['Holds'])
      .filter((code) => code.endsWith(' <job id>'))
      .map((code) => toRegExp(code.replace('<token>', String.raw`\d+`).replace('<job id>', '.+')));
    expect(seenLocks.size).toBeGreaterThan(1);
    expect([...seenLocks].filter((value) => !forms.some((form) => form.test(value)))).toEqual([]);
    expect(forms.filter((form) => ![...seenLocks].some((value) => form.test(value)))).toEqual([]);
  });

  it('names the kinds of keys that jobs wait for', () => {
    const [row] = table(DOCUMENT, 'Field', '### Fields of run').filter(
      ({ Field }) => Field === '`blocked_on`',
    );
    const kinds = codeSpans(row?.['Meaning']).filter((code) => /^[a-z]+$/.test(code));
    expect(new Set(kinds)).toEqual(new Set([...seenBlockedOn].map((blockedOn) => blockedOn.split(':')[0])));
  });

  it('says how many blocked jobs a reap looks at', () => {
    expect(DOCUMENT).toContain(
      `up to ${INTERNAL.blockedLookedAt.toLocaleString('en')} entries of \`blocked\``,
    );
  });

  it('counts nothing under another name', () => {
    expect([...(seenFields.get('stats') ?? [])].toSorted()).toEqual([...STATS].toSorted());
  });

  it('says for how long a minute is kept, and that absent never exists', async () => {
    const minute = [...seen.keys()].find((name) => name.startsWith('stats:')) ?? '';
    const seconds = await harness.redis.ttl(harness.key(minute));
    expect(Math.round(seconds / 3_600)).toBe(2);
    expect([...seen.keys()]).not.toContain('absent');
  });

  it('says what happens when each of them is deleted', () => {
    const explained = table(DOCUMENT, 'Deleted').flatMap(({ Deleted }) => codeSpans(Deleted));
    expect(patterns.map(({ text }) => text).filter((text) => !explained.includes(text))).toEqual([]);
  });

  it('says how long an idle worker may overlook new work', () => {
    expect(DOCUMENT).toContain(`notices new work within ${INTERNAL.idlePollMs / 1_000} s`);
  });
});

/** Runs jobs into all states, and looks while each key is there. */
async function bringIntoEveryState(harness: RedisStoreHarness, look: () => Promise<void>): Promise<void> {
  const driver = new StoreDriver({
    store: harness.store,
    advance: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    close: harness.close,
  });
  const { store } = driver;
  await store.renew(worker('worker-1'), [], LONG_MS);
  await store.pause();
  await look();
  await store.resume();

  for (const [kind, outcome] of Object.entries(OUTCOMES)) {
    await driver.enqueue(kind);
    const claimed = await driver.claimOne();
    await store.writeCheckpoint(kind, claimed.token, '{"step":1}');
    await store.renew(worker('worker-1'), [claimed], LONG_MS);
    await driver.settle(claimed, outcome);
    // A release puts it back; the next claim would take it.
    if (kind === 'release') await store.cancel(kind);
    await look();
  }
  await driver.settle({ jobId: 'done', token: 1 }, OUTCOMES.done);
  await store.redrive('dead');
  await driver.enqueue('done');
  await driver.claimIds();

  await driver.enqueue('abandoned');
  await driver.claimOne({ leaseMs: SHORT_MS });
  await store.cancel('abandoned');
  await look();
  await driver.advance(PASSED_MS);
  await store.reap(LONG_MS, 10);
  await store.count('runaways', 1);

  for (let priority = 0; priority <= 9; priority++)
    await driver.enqueue(`priority-${priority}`, { priority });
  await driver.enqueue('later', { delayMs: LONG_MS });
  await driver.enqueue('unwanted');
  await store.cancel('unwanted');
  await look();

  await bringKeysIntoEveryState(driver, look);
}

async function bringKeysIntoEveryState(driver: StoreDriver, look: () => Promise<void>): Promise<void> {
  // Out of the way: what was enqueued above.
  await driver.claim(100);
  const keys = {
    resource: 'r',
    idempotency: once('i'),
    dedup: unique('d', { onDuplicate: 'rerun', keepWhenDead: true }),
  };
  await driver.enqueueWith(keys, 'owner');
  const owner = await driver.claimOne();
  await driver.enqueueWith({ resource: 'r' }, 'waits');
  await driver.claim();
  await driver.store.reap(LONG_MS, 10);
  await driver.enqueueWith(keys, 'follow-up', 'newest');
  await driver.enqueueWith({ resource: 'r' }, 'on-resource');
  await driver.enqueueWith({ resource: 'other', idempotency: keys.idempotency }, 'on-operation');
  await driver.claim();
  await look();
  await driver.settle(owner, OUTCOMES.done);
  await look();
  await driver.drain();
  await driver.enqueueWith({ dedup: unique('window', { windowMs: LONG_MS }) }, 'throttled');
  await look();
}
