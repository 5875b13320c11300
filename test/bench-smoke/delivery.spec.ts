import { describe, expect, it } from '@jest/globals';
import { Delivery } from '../../bench/delivery.js';
import { payloads } from '../../bench/payload.js';

describe('the exact-delivery check of the bench', () => {
  function delivered(jobs: number, starts: readonly number[], startsPerJob?: number): Delivery {
    const delivery = new Delivery(jobs, startsPerJob);
    for (const seq of starts) delivery.start(seq);
    return delivery;
  }

  it('accepts each job once', () => {
    expect(() => delivered(3, [2, 0, 1]).check(0)).not.toThrow();
  });

  it('accepts each job as often as it should start', () => {
    expect(() => delivered(2, [0, 1, 1, 0], 2).check(0)).not.toThrow();
  });

  it.each([
    ['a missing job', [0, 1], 0, 'job 2 started 0 times'],
    ['a repeated job', [0, 1, 2, 1], 0, 'job 1 started 2 times'],
    ['a repeated job that makes up for a missing one', [0, 1, 1], 0, 'job 2 started 0 times'],
    ['a job of another run', [0, 1, 2, 7], 0, '4 starts instead of 3'],
    ['a job that has not ended', [0, 1, 2], 1, '1 jobs have not ended'],
  ])('refuses %s', (_what, starts, remaining, message) => {
    expect(() => delivered(3, starts).check(remaining)).toThrow(message);
  });

  it('gives up on jobs that do not start', async () => {
    await expect(delivered(2, [0]).complete(10)).rejects.toThrow('Only 1 of 2 starts');
  });
});

describe('payloads of the bench', () => {
  it.each([100, 300, 10_000])('have exactly %i bytes', (bytes) => {
    const sizes = payloads(12, 95, bytes).map((payload) => JSON.stringify(payload).length);
    expect(new Set(sizes)).toEqual(new Set([bytes]));
  });
});
