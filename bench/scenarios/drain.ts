/** The steps that scenarios share: enqueue in one of three ways, warm up, and let a worker drain the queue. */
import type { BenchHandler, Contender, JobOptions } from '../contenders/contender.js';
import { Delivery } from '../delivery.js';
import { payloads, type BenchPayload } from '../payload.js';
import { withContender, type Bench, type OpenSettings } from '../scenario.js';

export const JOBS_PER_CALL = 1_000;
export const CALLS_IN_FLIGHT = 100;
const END_TIMEOUT_MS = 10_000;
const WARM_UP_CONCURRENCY = 100;

/** One after the other. */
export async function enqueueSingly(contender: Contender, jobs: readonly BenchPayload[]): Promise<void> {
  for (const job of jobs) await contender.enqueue(job);
}

/** Always as many calls as `CALLS_IN_FLIGHT` under way: each of that many callers awaits its own. */
export async function enqueueInFlight(contender: Contender, jobs: readonly BenchPayload[]): Promise<void> {
  let next = 0;
  const caller = async (): Promise<void> => {
    for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) await contender.enqueue(job);
  };
  await Promise.all(Array.from({ length: CALLS_IN_FLIGHT }, caller));
}

export async function enqueueInBulk(
  contender: Contender,
  jobs: readonly BenchPayload[],
  options?: JobOptions,
): Promise<void> {
  for (let from = 0; from < jobs.length; from += JOBS_PER_CALL) {
    await contender.enqueueMany(jobs.slice(from, from + JOBS_PER_CALL), options);
  }
}

/** Lets a worker start every job, and returns when it is closed and the delivery has been checked. */
export async function drain(
  bench: Bench,
  contender: Contender,
  concurrency: number,
  delivery: Delivery,
  handler: BenchHandler = startOnly(delivery),
): Promise<void> {
  const worker = await contender.startWorker(concurrency, handler);
  try {
    await delivery.complete(bench.sizes.patienceMs);
    await untilEnded(contender);
  } finally {
    await worker.close();
  }
  delivery.check(await contender.remaining());
}

/** Does nothing, and does it asynchronously. */
export function startOnly(delivery: Delivery): BenchHandler {
  return async ({ seq }) => {
    delivery.start(seq);
  };
}

/** Lets the compiler see the code it will be measured with. Leaves an empty Redis. */
export async function warmUp(bench: Bench, settings: OpenSettings = {}): Promise<void> {
  const jobs = bench.sizes.warmUpJobs;
  await withContender(bench, settings, async (contender) => {
    await enqueueInBulk(contender, payloads(jobs));
    await drain(bench, contender, WARM_UP_CONCURRENCY, new Delivery(jobs));
  });
  await bench.redis.flush();
}

/** A worker settles what it has started; closing it earlier could hide a job that runs a second time. */
export async function untilEnded(contender: Contender): Promise<void> {
  const deadline = performance.now() + END_TIMEOUT_MS;
  while ((await contender.remaining()) > 0 && performance.now() < deadline) await sleep(5);
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** Things per second of an action that handles `count` of them. */
export async function ratePerSecond(count: number, action: () => Promise<void>): Promise<number> {
  const startedAt = performance.now();
  await action();
  return (count / (performance.now() - startedAt)) * 1_000;
}
