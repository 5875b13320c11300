/** What all runs measured, and which of them did not count. */
import type { ContenderName } from './contenders/contender.js';
import { median } from './measure.js';
import type { Metrics } from './scenario.js';

export interface Run {
  readonly scenario: string;
  readonly contender: ContenderName;
  readonly round: number;
  readonly metrics: Metrics;
}

export interface FailedRun extends Omit<Run, 'metrics'> {
  readonly reason: string;
}

export interface Spread {
  readonly median: number;
  readonly min: number;
  readonly max: number;
  readonly runs: number;
}

export class Results {
  readonly runs: Run[] = [];
  readonly failed: FailedRun[] = [];

  /** `undefined` when no run that counts has measured it. */
  spread(scenario: string, contender: ContenderName, metric: string): Spread | undefined {
    const values = this.runs
      .filter((run) => run.scenario === scenario && run.contender === contender)
      .map(({ metrics }) => metrics[metric])
      .filter((value) => value !== undefined);
    if (values.length === 0) return undefined;
    return {
      median: median(values),
      min: Math.min(...values),
      max: Math.max(...values),
      runs: values.length,
    };
  }
}
