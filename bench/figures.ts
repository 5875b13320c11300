/** The rows of the main table: where each figure comes from, and the bar it has to clear. */
import type { Peer } from './contenders/contender.js';

/** How many times better than a peer Fenceline must be, or a limit of its own. */
export type Bar =
  | { readonly against: Peer; readonly times: number }
  | { readonly atLeast: number }
  | { readonly atMost: number };

export interface Figure {
  readonly id: string;
  /** `{name}` stands for that size. */
  readonly title: string;
  readonly unit: 'a second' | 'ms' | 'µs' | 'bytes' | 'ratio';
  readonly better: 'higher' | 'lower';
  readonly scenario: string;
  readonly metric: string;
  readonly bars: readonly Bar[];
}

const BULLMQ = 'bullmq';
const BEE = 'bee-queue';

export const FIGURES: readonly Figure[] = [
  rate('process-100', 'process, concurrency 100', 'throughput-100', 'processRate', [
    { against: BULLMQ, times: 3.5 },
    { against: BEE, times: 3 },
  ]),
  rate('process-10', 'process, concurrency 10', 'throughput-10', 'processRate', [
    { against: BULLMQ, times: 2.2 },
  ]),
  rate('process-1', 'process, concurrency 1', 'throughput-1', 'processRate', [
    { against: BULLMQ, times: 1.3 },
  ]),
  rate('enqueue-singly', 'enqueue, one after the other', 'throughput-1', 'enqueueRate', [
    { against: BULLMQ, times: 1.2 },
    { against: BEE, times: 1 },
  ]),
  rate('enqueue-in-flight', 'enqueue, 100 in flight', 'throughput-10', 'enqueueRate', [
    { against: BULLMQ, times: 2.5 },
    { against: BEE, times: 1.1 },
  ]),
  rate('enqueue-many', 'enqueueMany, 1,000 a call', 'throughput-100', 'enqueueRate', [
    { against: BULLMQ, times: 6 },
    { against: BEE, times: 1.4 },
  ]),
  lower('pick-up-p50', 'idle worker, enqueue → start, p50', 'ms', 'pick-up', 'singleP50', [
    { against: BEE, times: 1 },
  ]),
  lower('pick-up-p99', 'idle worker, enqueue → start, p99', 'ms', 'pick-up', 'singleP99', [
    { against: BULLMQ, times: 1 },
  ]),
  lower('pick-up-500-p50', 'at 500 arrivals a second, p50', 'ms', 'pick-up', 'slowP50'),
  lower('pick-up-500-p99', 'at 500 arrivals a second, p99', 'ms', 'pick-up', 'slowP99'),
  lower('pick-up-5000-p50', 'at 5,000 arrivals a second, p50', 'ms', 'pick-up', 'fastP50'),
  lower('pick-up-5000-p99', 'at 5,000 arrivals a second, p99', 'ms', 'pick-up', 'fastP99'),
  lower('redis-process', 'Redis CPU per processed job', 'µs', 'throughput-100', 'processRedisMicros', [
    { atMost: 9 },
  ]),
  lower('redis-enqueue', 'Redis CPU per bulk-enqueued job', 'µs', 'throughput-100', 'enqueueRedisMicros', [
    { atMost: 4 },
  ]),
  lower('commands-process', 'Redis commands per processed job', 'ratio', 'throughput-100', 'processCommands'),
  lower('node-process', 'Node CPU per processed job', 'µs', 'throughput-100', 'processNodeMicros'),
  lower('memory', 'memory per queued job, 300 B payload', 'bytes', 'throughput-100', 'bytesPerJob', [
    { atMost: 560 },
  ]),
  higher(
    'backlog',
    'process rate, {backlogLarge} queued / {backlogSmall} queued',
    'ratio',
    'backlog',
    'largeToSmall',
    [{ atLeast: 0.9 }],
  ),
  lower('idle', 'idle worker, commands sent', 'a second', 'idle', 'sentPerSecond', [{ atMost: 1 }]),
  lower('idle-inner', 'idle worker, with those in scripts', 'a second', 'idle', 'commandsPerSecond'),
  lower('heap', 'heap after {heapLateJobs} jobs / after {heapEarlyJobs}', 'ratio', 'heap', 'lateToEarly', [
    { atLeast: 0.9 },
    { atMost: 1.1 },
  ]),
  rate('retention', 'process, last 10,000 kept', 'retention', 'processRate'),
  lower('retention-redis', 'Redis CPU for it', 'µs', 'retention', 'processRedisMicros'),
  lower('delayed-p50', 'delayed job starts late by, p50', 'ms', 'delayed', 'latenessP50'),
  lower('delayed-p99', 'delayed job starts late by, p99', 'ms', 'delayed', 'latenessP99'),
  rate('retries', 'jobs that fail once, then succeed', 'retries', 'jobsPerSecond'),
  rate(
    'many-workers',
    'enqueue and process, {workerProcesses} processes with concurrency 1',
    'many-workers',
    'jobsPerSecond',
  ),
  rate('memory-store', 'memory store, enqueue and process', 'memory-store', 'jobsPerSecond', [
    { atLeast: 100_000 },
  ]),
];

export function figuresOf(scenario: string): Figure[] {
  return FIGURES.filter((figure) => figure.scenario === scenario);
}

function rate(
  id: string,
  title: string,
  scenario: string,
  metric: string,
  bars: readonly Bar[] = [],
): Figure {
  return higher(id, title, 'a second', scenario, metric, bars);
}

function higher(
  id: string,
  title: string,
  unit: Figure['unit'],
  scenario: string,
  metric: string,
  bars: readonly Bar[] = [],
): Figure {
  return { id, title, unit, better: 'higher', scenario, metric, bars };
}

function lower(
  id: string,
  title: string,
  unit: Figure['unit'],
  scenario: string,
  metric: string,
  bars: readonly Bar[] = [],
): Figure {
  return { id, title, unit, better: 'lower', scenario, metric, bars };
}
