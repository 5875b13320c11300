/** The memory store through the Nest API: jobs are enqueued in bulk while the app's own worker runs them. */
import { enqueueInBulk, ratePerSecond, startOnly, untilEnded } from './drain.js';
import { Delivery } from '../delivery.js';
import { payloads } from '../payload.js';
import { withContender, type Bench, type Scenario } from '../scenario.js';

const CONCURRENCY = 100;

export const memoryStore: Scenario = {
  name: 'memory-store',
  contenders: ['fenceline-memory'],
  rounds: 'few',
  part: 'usual',
  run: async (bench) => {
    await enqueueAndProcess(bench, bench.sizes.warmUpJobs);
    return { jobsPerSecond: await enqueueAndProcess(bench, bench.sizes.memoryJobs) };
  },
};

/** Returns the jobs a second from the first enqueue to the start of the last job. */
function enqueueAndProcess(bench: Bench, jobs: number): Promise<number> {
  return withContender(bench, {}, async (contender) => {
    const delivery = new Delivery(jobs);
    const given = payloads(jobs);
    await contender.startWorker(CONCURRENCY, startOnly(delivery));
    const jobsPerSecond = await ratePerSecond(jobs, async () => {
      await enqueueInBulk(contender, given);
      await delivery.complete(bench.sizes.patienceMs);
    });
    await untilEnded(contender);
    delivery.check(await contender.remaining());
    return jobsPerSecond;
  });
}
