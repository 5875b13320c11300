/**
 * Enqueues in one of three ways, then lets one worker drain the queue: how fast is each, and what does a job
 * cost. Three pairs cover the six figures: in bulk and concurrency 100, in flight and 10, singly and 1.
 */
import {
  CALLS_IN_FLIGHT,
  drain,
  enqueueInBulk,
  enqueueInFlight,
  enqueueSingly,
  ratePerSecond,
  warmUp,
} from './drain.js';
import type { Contender } from '../contenders/contender.js';
import { Delivery } from '../delivery.js';
import { costPerJob } from '../measure.js';
import { payloads, USUAL_BYTES, type BenchPayload } from '../payload.js';
import { withContender, type Bench, type Metrics, type OpenSettings, type Scenario } from '../scenario.js';

interface Throughput {
  readonly jobs: number;
  readonly concurrency: number;
  readonly enqueue: (contender: Contender, jobs: readonly BenchPayload[]) => Promise<void>;
  readonly payloadBytes?: number;
  readonly settings?: OpenSettings;
}

export async function measureThroughput(
  bench: Bench,
  { jobs, concurrency, enqueue, payloadBytes = USUAL_BYTES, settings = {} }: Throughput,
): Promise<Metrics> {
  await warmUp(bench, settings);
  const given = payloads(jobs, 0, payloadBytes);
  const delivery = new Delivery(jobs);

  return withContender(bench, settings, async (contender) => {
    // The paths of `enqueue` itself, which the warm-up may not have taken; and the keys a queue always has.
    const first = payloads(Math.min(jobs, 2 * CALLS_IN_FLIGHT));
    await enqueue(contender, first);
    await drain(bench, contender, concurrency, new Delivery(first.length));

    const empty = await bench.redis.read();
    const enqueueRate = await ratePerSecond(jobs, () => enqueue(contender, given));
    const queued = await bench.redis.read();
    const cpuBefore = process.cpuUsage();
    await drain(bench, contender, concurrency, delivery);
    const cpu = process.cpuUsage(cpuBefore);
    const drained = await bench.redis.read();

    const enqueueCost = costPerJob(empty, queued, jobs);
    const processCost = costPerJob(queued, drained, jobs);
    return {
      enqueueRate,
      enqueueRedisMicros: enqueueCost.redisMicros,
      enqueueCommands: enqueueCost.commands,
      bytesPerJob: (queued.memoryBytes - empty.memoryBytes) / jobs,
      processRate: delivery.startsPerSecond,
      processRedisMicros: processCost.redisMicros,
      processCommands: processCost.commands,
      processScripts: processCost.scripts,
      processNodeMicros: (cpu.user + cpu.system) / jobs,
    };
  });
}

const CONTENDERS = ['fenceline', 'bullmq', 'bee-queue'] as const;

export const throughputScenarios: readonly Scenario[] = [
  {
    name: 'throughput-100',
    contenders: CONTENDERS,
    rounds: 'every',
    part: 'usual',
    run: (bench) =>
      measureThroughput(bench, {
        jobs: bench.sizes.enqueueManyJobs,
        concurrency: 100,
        enqueue: enqueueInBulk,
      }),
  },
  {
    name: 'throughput-10',
    contenders: CONTENDERS,
    rounds: 'every',
    part: 'usual',
    run: (bench) =>
      measureThroughput(bench, {
        jobs: bench.sizes.enqueueInFlightJobs,
        concurrency: 10,
        enqueue: enqueueInFlight,
      }),
  },
  {
    name: 'throughput-1',
    contenders: CONTENDERS,
    rounds: 'every',
    part: 'usual',
    run: (bench) =>
      measureThroughput(bench, {
        jobs: bench.sizes.enqueueSingleJobs,
        concurrency: 1,
        enqueue: enqueueSingly,
      }),
  },
  {
    name: 'retention',
    contenders: ['fenceline', 'bullmq'],
    rounds: 'few',
    part: 'usual',
    run: (bench) =>
      measureThroughput(bench, {
        jobs: bench.sizes.retentionJobs,
        concurrency: 100,
        enqueue: enqueueInBulk,
        settings: { keep: 'recent' },
      }),
  },
];
