/** The rows of the second table: what a job costs as one thing grows. */
import type { Results } from './results.js';
import type { Sizes } from './sizes.js';

export interface GrowthRow {
  readonly title: string;
  /** In the order of `METRICS`. */
  readonly values: readonly (number | undefined)[];
}

const METRICS = ['processRate', 'processRedisMicros', 'bytesPerJob', 'sentPerSecond', 'commandsPerSecond'];

export function growthRows(results: Results, sizes: Sizes): GrowthRow[] {
  const count = (value: number): string => value.toLocaleString('en-US');
  const titles: readonly (readonly [scenario: string, title: string])[] = [
    ['growth-backlog-small', `backlog of ${count(sizes.backlogSmall)}`],
    ['growth-backlog-medium', `backlog of ${count(sizes.backlogMedium)}`],
    ['growth-backlog-large', `backlog of ${count(sizes.backlogLarge)}`],
    ['growth-payload-100', 'payload of 100 B'],
    ['growth-payload-10000', 'payload of 10 kB'],
    ['growth-keys-1', '1 resource key for all jobs'],
    ['growth-keys-10', '10 resource keys'],
    ['growth-keys-100', '100 resource keys'],
    ['growth-running', `${count(sizes.heldJobs)} jobs running for ${sizes.heldMs / 1_000} s`],
  ];
  return titles
    .map(([scenario, title]) => ({
      title,
      values: METRICS.map((metric) => results.spread(scenario, 'fenceline', metric)?.median),
    }))
    .filter(({ values }) => values.some((value) => value !== undefined));
}
