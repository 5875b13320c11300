/**
 * From enqueue to the start of the handler, on a worker that is otherwise idle: one job after the other, and
 * open loop, where jobs arrive at a fixed rate whether or not the earlier ones were started.
 */
import { sleep, untilEnded, warmUp } from './drain.js';
import type { Contender } from '../contenders/contender.js';
import { Delivery } from '../delivery.js';
import { percentile } from '../measure.js';
import { payloads } from '../payload.js';
import { withContender, type Bench, type Metrics, type Scenario } from '../scenario.js';

const CONCURRENCY = 10;
const PAUSE_MS = 3;
/** Until the worker waits in its blocking call. */
const GET_IDLE_MS = 300;
/** A timer is up to this late, so the rest of the way to an arrival is spent spinning. */
const TIMER_SLACK_MS = 2;
const FIRST_CALLS = 50;

/** Arrivals a second. */
const SLOW = 500;
const FAST = 5_000;

export const pickUp: Scenario = {
  name: 'pick-up',
  contenders: ['fenceline', 'bullmq', 'bee-queue'],
  rounds: 'every',
  part: 'usual',
  run,
};

async function run(bench: Bench): Promise<Metrics> {
  const { pickUps, openLoopMs } = bench.sizes;
  await warmUp(bench);
  return withContender(bench, {}, async (contender) => {
    const starts = new Starts();
    const worker = await contender.startWorker(CONCURRENCY, async ({ seq }) => starts.add(seq));
    try {
      await sleep(GET_IDLE_MS);
      await oneByOne(bench, contender, starts, FIRST_CALLS);
      const single = await oneByOne(bench, contender, starts, pickUps);
      const slow = await openLoop(bench, contender, starts, SLOW, openLoopMs);
      const fast = await openLoop(bench, contender, starts, FAST, openLoopMs);
      return {
        ...quantiles('single', single),
        ...quantiles('slow', slow),
        ...quantiles('fast', fast),
      };
    } finally {
      await worker.close();
    }
  });
}

/** When each job of the part under way was started. */
class Starts {
  at: Float64Array = new Float64Array();
  delivery = new Delivery(0);
  onStart: () => void = () => undefined;

  begin(jobs: number): void {
    this.at = new Float64Array(jobs);
    this.delivery = new Delivery(jobs);
    this.onStart = () => undefined;
  }

  add(seq: number): void {
    this.at[seq] = performance.now();
    this.delivery.start(seq);
    this.onStart();
  }
}

async function oneByOne(bench: Bench, contender: Contender, starts: Starts, jobs: number): Promise<number[]> {
  starts.begin(jobs);
  const latencies: number[] = [];
  for (const [i, payload] of payloads(jobs).entries()) {
    const started = new Promise<void>((resolve) => (starts.onStart = resolve));
    const enqueuedAt = performance.now();
    await Promise.all([contender.enqueue(payload), started]);
    latencies.push((starts.at[i] ?? Number.NaN) - enqueuedAt);
    await sleep(PAUSE_MS);
  }
  await check(bench, contender, starts);
  return latencies;
}

/** Latencies from when a job should have arrived, so that a producer that falls behind counts as waiting. */
async function openLoop(
  bench: Bench,
  contender: Contender,
  starts: Starts,
  arrivalsPerSecond: number,
  ms: number,
): Promise<number[]> {
  const jobs = payloads(Math.round((arrivalsPerSecond * ms) / 1_000));
  starts.begin(jobs.length);
  const enqueued: Promise<void>[] = [];
  const beginsAt = performance.now() + TIMER_SLACK_MS;
  const arrivesAt = (i: number): number => beginsAt + (i * 1_000) / arrivalsPerSecond;
  for (const [i, job] of jobs.entries()) {
    await until(arrivesAt(i));
    enqueued.push(contender.enqueue(job));
  }
  await Promise.all(enqueued);
  await check(bench, contender, starts);
  return jobs.map((_, i) => (starts.at[i] ?? Number.NaN) - arrivesAt(i));
}

async function until(at: number): Promise<void> {
  const left = at - performance.now();
  if (left > TIMER_SLACK_MS) await sleep(left - TIMER_SLACK_MS);
  while (performance.now() < at) await new Promise((resolve) => setImmediate(resolve));
}

async function check(bench: Bench, contender: Contender, { delivery }: Starts): Promise<void> {
  await delivery.complete(bench.sizes.patienceMs);
  await untilEnded(contender);
  delivery.check(await contender.remaining());
}

function quantiles(name: string, latencies: readonly number[]): Record<string, number> {
  return { [`${name}P50`]: percentile(latencies, 0.5), [`${name}P99`]: percentile(latencies, 0.99) };
}
