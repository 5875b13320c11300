import { describe, expect, it } from '@jest/globals';
import type { ContenderName } from '../../bench/contenders/contender.js';
import { FIGURES, type Figure } from '../../bench/figures.js';
import { judge } from '../../bench/judge.js';
import { toMarkdown } from '../../bench/report.js';
import { Results } from '../../bench/results.js';
import { sizesOf } from '../../bench/sizes.js';

const machine = { date: '2026-01-02T03:04:05Z', cpu: 'A', cores: 2, system: 'B', memoryGb: 1, versions: {} };

function figure(id: string): Figure {
  const found = FIGURES.find((candidate) => candidate.id === id);
  if (!found) throw new Error(`no figure ${id}`);
  return found;
}

/** Results in which the figure has these values, one per round. */
function measured(id: string, values: Partial<Record<ContenderName, number[]>>): Results {
  const { scenario, metric } = figure(id);
  const results = new Results();
  for (const contender of ['fenceline', 'bullmq', 'bee-queue'] as const) {
    values[contender]?.forEach((value, i) =>
      results.runs.push({ scenario, contender, round: i + 1, metrics: { [metric]: value } }),
    );
  }
  return results;
}

describe('the verdict on a figure', () => {
  it('compares medians', () => {
    const results = measured('process-100', {
      fenceline: [90, 100, 1],
      bullmq: [20, 30, 10],
      'bee-queue': [30, 30],
    });
    const verdict = judge(figure('process-100'), results);
    expect(verdict).toMatchObject({
      own: { median: 90, min: 1, max: 100 },
      times: { bullmq: 4.5, 'bee-queue': 3 },
      met: true,
    });
  });

  it('turns the ratio round where less is better', () => {
    const results = measured('pick-up-p50', { fenceline: [0.4], 'bee-queue': [0.2] });
    expect(judge(figure('pick-up-p50'), results)).toMatchObject({ times: { 'bee-queue': 0.5 }, met: false });
  });

  it('holds a figure to both ends of its range', () => {
    const met = (value: number): boolean | undefined =>
      judge(figure('heap'), measured('heap', { fenceline: [value] }))?.met;
    expect([0.8, 1, 1.2].map(met)).toEqual([false, true, false]);
  });

  it('does not call a bar met when the peer is missing', () => {
    expect(judge(figure('process-100'), measured('process-100', { fenceline: [9] }))?.met).toBeUndefined();
  });
});

describe('the report', () => {
  it('shows what was measured, and what failed', () => {
    const results = measured('process-10', { fenceline: [50_000, 60_000], bullmq: [20_000, 30_000] });
    results.failed.push({ scenario: 'idle', contender: 'bullmq', round: 1, reason: 'job 3 started 2 times' });
    const sizes = sizesOf('full');
    const text = toMarkdown({ results, machine, scale: 'full', sizes, rounds: 2, seconds: 1 });
    expect(text).toMatch(/process, concurrency 10, \/s +\| 55,000 \(50,000–60,000\) .*\| 2\.20 .*\| yes/);
    expect(text).toContain('- idle, bullmq, round 1: job 3 started 2 times');
    expect(text).not.toContain('enqueueMany');
  });
});
