/** All faults mixed at random, as often as it takes. `npm run test:chaos -- --long` is for the figures of docs/reliability.md. */
import { describe, expect, it } from '@jest/globals';
import { mixFor } from '../faults/mix.js';
import { KEEPS_EVERYTHING } from '../faults/server-faults.js';
import { report, sumOf, type Figures } from './figures.js';
import { runChaos, SEED } from './run-chaos.js';

const isLong = process.env.CHAOS_LONG !== undefined;
const ROUND_MS = isLong ? 60_000 : 25_000;
const ROUNDS = Number(process.env.CHAOS_ROUNDS ?? (isLong ? 12 : 1));
const SETTINGS = { workers: 3, producers: 2, jobsPerSecond: isLong ? 400 : 150, redis: KEEPS_EVERYTHING };

describe(`everything at once, CHAOS_SEED=${SEED}`, () => {
  const rounds: Figures[] = [];

  it.each(Array.from({ length: ROUNDS }, (_, round) => SEED + round))('round of seed %i', async (seed) => {
    const scenario = {
      ...SETTINGS,
      disturb: mixFor(ROUND_MS, seed),
      feltAs: ['kills', 'leasesLost'],
    } as const;
    rounds.push(await runChaos('everything at once', scenario, seed));
  });

  it('lost nothing, in all rounds together', () => {
    const all = sumOf(rounds);
    report(`${rounds.length} rounds together`, SEED, all);
    expect(rounds).toHaveLength(ROUNDS);
    expect(all.lost).toBe(0);
  });
});
