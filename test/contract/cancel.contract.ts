/** Contract: a cancellation that was asked for is carried out by the outcome, unless the job was finished. */
import { expect, it } from '@jest/globals';
import { OUTCOMES, useStore, type ContractFactory } from './contract-store.js';

export function describeCancel(factory: ContractFactory): void {
  const driver = useStore(factory);

  it('asks the worker of a running job, any number of times', async () => {
    await driver().enqueue('a');
    await driver().claimOne();
    expect(await driver().store.cancel('a')).toEqual({ kind: 'requested' });
    const record = await driver().read('a');
    expect(record).toMatchObject({ status: 'processing', cancelRequested: true });

    expect(await driver().store.cancel('a')).toEqual({ kind: 'requested' });
    expect(await driver().read('a')).toEqual(record);
    expect(await driver().lifetime()).toMatchObject({ cancelled: 0 });
  });

  it.each([OUTCOMES.retry, OUTCOMES.snooze, OUTCOMES.release, OUTCOMES.cancelled])(
    'ends as cancelled where the outcome is $kind',
    async (outcome) => {
      await driver().enqueue('a');
      const claimed = await driver().claimOne();
      await driver().store.cancel('a');

      expect(await driver().settle(claimed, outcome)).toEqual({ applied: true, status: 'cancelled' });

      expect(await driver().read('a')).toMatchObject({ status: 'cancelled', attempt: 1 });
      expect(await driver().counts()).toEqual({ cancelled: 1 });
      expect(await driver().lifetime()).toMatchObject({ cancelled: 1, retried: 0, snoozed: 0, released: 0 });
      expect(await driver().claim()).toEqual([]);
    },
  );

  it.each([OUTCOMES.done, OUTCOMES.dead])('is too late where the outcome is $kind', async (outcome) => {
    await driver().enqueue('a');
    const claimed = await driver().claimOne();
    await driver().store.cancel('a');

    expect(await driver().settle(claimed, outcome)).toEqual({ applied: true, status: outcome.kind });
    expect(await driver().counts()).toEqual({ [outcome.kind]: 1 });
    expect(await driver().lifetime()).toMatchObject({ cancelled: 0, [outcome.kind]: 1 });
  });

  it('is forgotten by a redrive', async () => {
    await driver().enqueue('a');
    const claimed = await driver().claimOne();
    await driver().store.cancel('a');
    await driver().settle(claimed, OUTCOMES.dead);
    await driver().store.redrive('a');

    expect(await driver().read('a')).toMatchObject({ status: 'queued', cancelRequested: false });
    expect(await driver().settle(await driver().claimOne(), OUTCOMES.retry)).toEqual({
      applied: true,
      status: 'retrying',
    });
  });

  it('counts each cancelled job once', async () => {
    await driver().enqueueAll('a', 'b');
    await driver().store.cancel('a');
    await driver().store.cancel('a');
    expect(await driver().lifetime()).toMatchObject({ cancelled: 1 });
  });
}
