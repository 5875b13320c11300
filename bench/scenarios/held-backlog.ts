/**
 * Processes while the queue is held at a size: for every job that starts, a new one is enqueued. So a queue
 * of a million and one of a thousand do the same work and differ in nothing but their depth.
 */
import { enqueueInBulk, startOnly, untilEnded, warmUp } from './drain.js';
import { Delivery } from '../delivery.js';
import { costPerJob, type RedisReading } from '../measure.js';
import { payloads } from '../payload.js';
import { withContender, type Bench, type Scenario } from '../scenario.js';

const CONCURRENCY = 100;
/** Jobs are replaced in portions of at most this, and of half the backlog. */
const PORTION = 500;
/** Bounds what the payloads of a deep backlog take in this process. */
const PREPARED_AT_ONCE = 50_000;

export async function processWithBacklog(
  bench: Bench,
  backlog: number,
  jobs: number,
): Promise<{ processRate: number; processRedisMicros: number }> {
  return withContender(bench, {}, async (contender) => {
    for (let from = 0; from < backlog; from += PREPARED_AT_ONCE) {
      await enqueueInBulk(contender, payloads(Math.min(PREPARED_AT_ONCE, backlog - from), from));
    }
    const portion = Math.min(PORTION, Math.ceil(backlog / 2));
    const total = backlog + jobs;
    const all = new Delivery(total);
    const start = startOnly(all);
    // Only the first `jobs` starts are measured; the rest is drained to see that nothing is missing.
    let enqueued = backlog;
    let replacing = Promise.resolve();
    let measuredAt = Number.NaN;
    let after: Promise<RedisReading> | undefined;

    const before = await bench.redis.read();
    const worker = await contender.startWorker(CONCURRENCY, (payload) => {
      const done = start(payload);
      if (all.count % portion === 0 && enqueued < total) {
        const more = payloads(Math.min(portion, total - enqueued), enqueued);
        enqueued += more.length;
        replacing = replacing.then(() => contender.enqueueMany(more));
      }
      if (all.count === jobs) {
        measuredAt = performance.now();
        after = bench.redis.read();
      }
      return done;
    });
    try {
      await all.complete(bench.sizes.patienceMs);
      await replacing;
      await untilEnded(contender);
    } finally {
      await worker.close();
    }
    all.check(await contender.remaining());
    return {
      processRate: (jobs / (measuredAt - all.firstAt)) * 1_000,
      processRedisMicros: after ? costPerJob(before, await after, jobs).redisMicros : Number.NaN,
    };
  });
}

export const backlog: Scenario = {
  name: 'backlog',
  contenders: ['fenceline'],
  rounds: 'once',
  part: 'usual',
  run: async (bench) => {
    const { backlogSmall, backlogLarge, backlogJobs } = bench.sizes;
    await warmUp(bench);
    const small = await processWithBacklog(bench, backlogSmall, backlogJobs);
    await bench.redis.flush();
    const large = await processWithBacklog(bench, backlogLarge, backlogJobs);
    return {
      smallRate: small.processRate,
      largeRate: large.processRate,
      largeToSmall: large.processRate / small.processRate,
    };
  },
};
