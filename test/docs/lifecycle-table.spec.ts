/** The tables of docs/job-lifecycle.md against the transitions in the code, which the contract suite demands of the stores. */
import { describe, expect, it } from '@jest/globals';
import { JOB_STATUSES, TRANSITIONS, type JobStatus, type Operation } from '#lib/job/job.js';
import type { Outcome } from '#lib/job/outcome.js';
import { DEFAULTS } from '#lib/options/defaults.js';
import type { NewJob } from '#lib/store/new-job.js';
import { MemoryJobStore } from '#lib/store/memory/memory-job-store.js';
import { LONG_MS, once, OUTCOMES, SHORT_MS, StoreDriver, unique } from '../contract/contract-store.js';
import { OPERATION_CASES } from '../contract/transition-cases.js';
import { codeSpans, readDocument, type Row, table } from './markdown.js';

const DOCUMENT = readDocument('docs/job-lifecycle.md');
const rows = table(DOCUMENT, 'Operation', '## Transitions');

/**
 * Operations that move jobs and have no row in `TRANSITIONS`: they have no state to start from, no caller, or are the
 * doing of another job.
 */
const OTHERS = ['enqueue', 'replace', 'unblock', 'prune'];

const operationOf = ({ Operation: cell }: Row): string => codeSpans(cell)[0] ?? '';
const outcomeOf = ({ Operation: cell }: Row): string | undefined => codeSpans(cell)[1];
const fromOf = ({ From }: Row): string[] => codeSpans(From);
/** `gone` is no state, so it is written as a word. */
const toOf = ({ To = '' }: Row): string[] => (To === 'gone' ? [To] : codeSpans(To));
const rowsOf = (operation: string): Row[] => rows.filter((row) => operationOf(row) === operation);

describe('docs/job-lifecycle.md', () => {
  it('explains every state', () => {
    expect(table(DOCUMENT, 'State').flatMap(({ State }) => codeSpans(State))).toEqual([...JOB_STATUSES]);
  });

  it('has a row for every operation and no other', () => {
    expect(new Set(rows.map(operationOf))).toEqual(new Set([...Object.keys(TRANSITIONS), ...OTHERS]));
  });

  it.each(Object.keys(TRANSITIONS) as Operation[])('says from where %s is possible', (operation) => {
    const from = new Set(rowsOf(operation).flatMap(fromOf));
    expect(from).toEqual(new Set<string>(TRANSITIONS[operation]));
  });

  it('has a row for every outcome of an attempt', () => {
    expect(new Set(rowsOf('settle').map(outcomeOf))).toEqual(new Set(Object.keys(OUTCOMES)));
  });

  it('says where each operation leads', () => {
    for (const { name, operation, accepted } of OPERATION_CASES) {
      const [, , outcome] = /^settle (as) (\w+)$/.exec(name) ?? [];
      // Renewing and writing a checkpoint are allowed where settling is, and move nothing.
      if (operation === 'settle' && outcome === undefined) continue;
      for (const from of TRANSITIONS[operation] as readonly JobStatus[]) {
        const matching = rowsOf(operation).filter((row) => outcomeOf(row) === outcome);
        const [, to] = accepted(from);
        expect([name, from, matching.flatMap(toOf)]).toEqual([name, from, expect.arrayContaining([to])]);
      }
    }
  });

  it('names no state that does not exist', () => {
    const known: readonly string[] = [...JOB_STATUSES, 'gone'];
    for (const row of rows) {
      for (const status of [...fromOf(row), ...toOf(row)]) expect(known).toContain(status);
    }
  });

  it('says where a claim leads, with and without keys', async () => {
    const seen = new Set<string>();
    const { store, driver } = create();
    await driver.enqueueWith({ idempotency: once('i') }, 'runs', 'waits', 'also-waits');
    const { claimed, blocked } = await driver.exchange({ claimMax: 10 });
    for (const jobId of [...claimed.map((job) => job.jobId), ...blocked])
      seen.add(await driver.statusOf(jobId));
    if (claimed[0]) await driver.settle(claimed[0], OUTCOMES.done);
    const { replayed } = await driver.exchange({ claimMax: 10 });
    expect(replayed).not.toEqual([]);
    for (const jobId of replayed) seen.add(await driver.statusOf(jobId));
    expect((await store.snapshot()).lifetime).toMatchObject({ blocked: 2, replayed: 2 });
    expect(new Set(rowsOf('claim').flatMap(toOf))).toEqual(seen);
  });

  it('says where an enqueue leads', async () => {
    const { driver } = create();
    const keys = { dedup: unique('d', { onDuplicate: 'rerun' }) };
    await driver.enqueue('queued', { keys });
    const seen = new Set<string>([await driver.statusOf('queued')]);
    await driver.claim();
    await driver.enqueue('follow-up', { keys });
    await driver.enqueue('later', { delayMs: LONG_MS });
    for (const jobId of ['follow-up', 'later']) seen.add(await driver.statusOf(jobId));
    expect(new Set(rowsOf('enqueue').flatMap(toOf))).toEqual(seen);
  });

  it('says what a duplicate replaces, and where that leads', async () => {
    const replaced = { from: new Set<string>(), to: new Set<string>() };
    const ways: Readonly<
      Record<string, (driver: StoreDriver, changes: Partial<NewJob>) => Promise<unknown>>
    > = {
      scheduled: (driver, changes) => driver.enqueue('job', { ...changes, delayMs: LONG_MS }),
      queued: (driver, changes) => driver.enqueue('job', changes),
      blocked: async (driver, { keys }) => {
        await driver.enqueueWith({ resource: 'r' }, 'holder');
        await driver.enqueue('job', { keys: { ...keys, resource: 'r' } });
        await driver.claim();
      },
      ...Object.fromEntries(
        Object.values(OUTCOMES).map((outcome: Outcome) => [
          outcome.kind,
          async (driver: StoreDriver, changes: Partial<NewJob>) => {
            await driver.enqueue('job', changes);
            await driver.settle(await driver.claimOne(), outcome);
          },
        ]),
      ),
      processing: async (driver, changes) => {
        await driver.enqueue('job', changes);
        await driver.claim();
      },
    };
    for (const [arrange, delayMs] of Object.values(ways).flatMap((way) => [
      [way, 0] as const,
      [way, SHORT_MS] as const,
    ])) {
      const { driver } = create();
      const keys = { dedup: unique('d', { onDuplicate: 'replace' as const, keepWhenDead: true }) };
      await arrange(driver, { keys });
      const from = await driver.statusOf('job');
      const reply = await driver.enqueue('duplicate', { keys, delayMs });
      if (!reply || !('replaced' in reply)) continue;
      replaced.from.add(from);
      replaced.to.add(await driver.statusOf('job'));
    }
    expect(new Set(rowsOf('replace').flatMap(fromOf))).toEqual(replaced.from);
    expect(new Set(rowsOf('replace').flatMap(toOf))).toEqual(replaced.to);
  });

  it('says where the end of a holder leads those that wait for it', async () => {
    for (const outcome of [
      OUTCOMES.done,
      OUTCOMES.retry,
      OUTCOMES.dead,
      OUTCOMES.cancelled,
      OUTCOMES.snooze,
    ]) {
      const { driver } = create();
      await driver.enqueueWith({ resource: 'r' }, 'holder', 'waits');
      const [holder] = await driver.claim();
      expect(rowsOf('unblock').flatMap(fromOf)).toEqual([await driver.statusOf('waits')]);
      if (holder) await driver.settle(holder, outcome);
      expect(rowsOf('unblock').flatMap(toOf)).toEqual([await driver.statusOf('waits')]);
    }
  });
});

function create(): { readonly store: MemoryJobStore; readonly driver: StoreDriver } {
  const store = new MemoryJobStore({ queue: 'jobs', retention: DEFAULTS.queue.retention });
  return { store, driver: new StoreDriver({ store, advance: async () => {}, close: async () => {} }) };
}
