/** Contract: every operation on a job in every status does what `TRANSITIONS` allows, or changes nothing. */
import { describe, expect, it } from '@jest/globals';
import { isLegal, JOB_STATUSES, type JobStatus } from '#lib/job/job.js';
import type { JobCounts, JobRecord, JobStore, QueueSnapshot } from '#lib/store/job-store.js';
import { useStore, type ContractFactory } from './contract-store.js';
import { ALL_OPERATIONS, JOB_ID, OPERATION_CASES, SITUATIONS } from './transition-cases.js';

interface Picture {
  readonly record: JobRecord | undefined;
  readonly checkpoint: string | undefined;
  readonly snapshot: QueueSnapshot;
}

/** All that can be seen of the job and the queue, but for the count of refusals and what merely grows older. */
async function takePicture(store: JobStore): Promise<Picture> {
  const [record] = await store.read([JOB_ID]);
  const snapshot = await store.snapshot();
  return {
    record,
    checkpoint: await store.readCheckpoint(JOB_ID),
    snapshot: { ...snapshot, oldestReadyAgeMs: 0, lifetime: { ...snapshot.lifetime, stale_refused: 0 } },
  };
}

/** How many jobs of each status there are: the job, if it is still there, and the one beside it. */
function countsOf(...statuses: readonly (JobStatus | 'gone' | undefined)[]): Partial<JobCounts> {
  const counts: Partial<Record<JobStatus, number>> = {};
  for (const status of statuses) {
    if (status && status !== 'gone') counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}

export function describeTransitions(factory: ContractFactory): void {
  const driver = useStore(factory);

  it('are all covered here', () => {
    expect(new Set(SITUATIONS.map(({ status }) => status))).toEqual(new Set(JOB_STATUSES));
    expect(new Set(OPERATION_CASES.map(({ operation }) => operation))).toEqual(new Set(ALL_OPERATIONS));
  });

  for (const situation of SITUATIONS) {
    describe(`a job that is ${situation.name}`, () => {
      const { status } = situation;
      const legal = OPERATION_CASES.filter(({ operation }) => isLegal(operation, status));
      const refused = OPERATION_CASES.filter(({ operation }) => !isLegal(operation, status));

      it.each(legal)('accepts: $name', async (operation) => {
        const token = await situation.arrange(driver(), operation.timing);
        expect(await driver().read(JOB_ID)).toMatchObject({ status });
        const [answer, to] = operation.accepted(status);

        expect(await operation.run(driver(), token)).toEqual(answer);

        expect((await driver().find(JOB_ID))?.status ?? 'gone').toBe(to);
        expect(await driver().counts()).toEqual(countsOf(to, situation.other));
        expect(await driver().whereListed(JOB_ID)).toEqual(to === 'gone' ? [] : [to]);
      });

      it.each(refused)('refuses: $name', async (operation) => {
        const token = await situation.arrange(driver(), operation.timing);
        const before = await takePicture(driver().store);
        expect(before.record).toMatchObject({ status });

        expect(await operation.run(driver(), token)).toEqual(operation.refused(status));

        expect(await takePicture(driver().store)).toEqual(before);
        expect(await driver().whereListed(JOB_ID)).toEqual([status]);
      });
    });
  }

  it('find no job that does not exist', async () => {
    const { store } = driver();
    expect(await store.cancel('nobody')).toEqual({ kind: 'not_found' });
    expect(await store.remove('nobody')).toEqual({ kind: 'not_found' });
    expect(await store.redrive('nobody')).toEqual({ kind: 'not_found' });
    expect(await store.writeCheckpoint('nobody', 1, '1')).toBe(false);
    expect(await driver().counts()).toEqual({});
    expect(await store.read(['nobody'])).toEqual([undefined]);
  });
}
