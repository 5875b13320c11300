/** What happened in a chaos run, in figures. */
import { appendFileSync } from 'node:fs';
import { lostJobs } from '../checker/checks/no-job-lost.js';
import type { Evidence } from '../checker/evidence.js';
import { entriesOf, runsOf } from '../checker/runs.js';
import { fieldsOf, jobsOf, queueKey } from '../checker/stored.js';

export interface Figures {
  readonly kills: number;
  /** Processes that ended when they were asked to. */
  readonly exits: number;
  readonly faults: number;
  readonly jobs: number;
  readonly runs: number;
  /** Acknowledged jobs that are gone. */
  readonly lost: number;
  readonly enqueuesUnknown: number;
  readonly enqueuesRefused: number;
  /** As Redis counted them. */
  readonly leasesLost: number;
  /** Outcomes that Redis refused because their token was stale. */
  readonly staleRefused: number;
  /** Writes that the external store refused because their token was stale. */
  readonly rowWritesRefused: number;
  readonly outages: number;
  /** From healing to the end of the last job. */
  readonly drainMs: number;
}

export function figuresOf(evidence: Evidence): Figures {
  const count = (kind: Parameters<typeof entriesOf>[1]): number => entriesOf(evidence, kind).length;
  const stats = fieldsOf(queueKey(evidence, 'stats'));
  const healedAt = entriesOf(evidence, 'healed').at(-1)?.at ?? 0;
  const drainedAt = entriesOf(evidence, 'drained').at(-1)?.at ?? Infinity;
  return {
    kills: count('killed'),
    exits: count('exited'),
    faults: count('fault'),
    jobs: jobsOf(evidence).size,
    runs: runsOf(evidence).length,
    lost: lostJobs(evidence).length,
    enqueuesUnknown: count('enqueue_unknown'),
    enqueuesRefused: count('enqueue_refused'),
    leasesLost: Number(stats['lost_leases'] ?? 0),
    staleRefused: Number(stats['stale_refused'] ?? 0),
    rowWritesRefused: entriesOf(evidence, 'row_written').filter(({ accepted }) => !accepted).length,
    outages: entriesOf(evidence, 'event').filter(({ event }) => event === 'store_unavailable').length,
    drainMs: Math.round(drainedAt - healedAt),
  };
}

/** On the terminal, and as a line of JSON in the file that CHAOS_REPORT names. */
export function report(name: string, seed: number, figures: Figures): void {
  const shown = Object.entries(figures).map(([figure, value]) => `${figure}=${value}`);
  process.stderr.write(`${name} (CHAOS_SEED=${seed}): ${shown.join(' ')}\n`);
  const { CHAOS_REPORT: file } = process.env;
  if (file) appendFileSync(file, `${JSON.stringify({ name, seed, ...figures })}\n`);
}

/** Of several runs; of `drainMs` the longest. */
export function sumOf(all: readonly Figures[]): Figures {
  const sum = (figure: keyof Figures): number => all.reduce((total, figures) => total + figures[figure], 0);
  return {
    kills: sum('kills'),
    exits: sum('exits'),
    faults: sum('faults'),
    jobs: sum('jobs'),
    runs: sum('runs'),
    lost: sum('lost'),
    enqueuesUnknown: sum('enqueuesUnknown'),
    enqueuesRefused: sum('enqueuesRefused'),
    leasesLost: sum('leasesLost'),
    staleRefused: sum('staleRefused'),
    rowWritesRefused: sum('rowWritesRefused'),
    outages: sum('outages'),
    drainMs: Math.max(0, ...all.map(({ drainMs }) => drainMs)),
  };
}
