/** What a worker's heap holds after many jobs against after some: a leak of 10 bytes a job would show. */
import { enqueueInBulk, JOBS_PER_CALL, sleep, startOnly, untilEnded } from './drain.js';
import { Delivery } from '../delivery.js';
import { payloads } from '../payload.js';
import { withContender, type Scenario } from '../scenario.js';

const CONCURRENCY = 100;
/** Until timers, sockets and batched counters have let go of the last jobs. */
const SETTLE_MS = 500;

export const heap: Scenario = {
  name: 'heap',
  contenders: ['fenceline'],
  rounds: 'once',
  part: 'extra',
  exposeGc: true,
  run: (bench) =>
    withContender(bench, {}, async (contender) => {
      const { heapEarlyJobs, heapLateJobs, patienceMs } = bench.sizes;
      // Its counters lie outside the heap.
      const delivery = new Delivery(heapLateJobs);
      const worker = await contender.startWorker(CONCURRENCY, startOnly(delivery));
      const heapAfter = async (from: number, to: number): Promise<number> => {
        for (let seq = from; seq < to; seq += JOBS_PER_CALL) {
          await enqueueInBulk(contender, payloads(Math.min(JOBS_PER_CALL, to - seq), seq));
        }
        const deadline = performance.now() + patienceMs;
        while (delivery.count < to && performance.now() < deadline) await sleep(5);
        await untilEnded(contender);
        await sleep(SETTLE_MS);
        globalThis.gc?.();
        globalThis.gc?.();
        return process.memoryUsage().heapUsed;
      };
      try {
        const early = await heapAfter(0, heapEarlyJobs);
        const late = await heapAfter(heapEarlyJobs, heapLateJobs);
        return { earlyBytes: early, lateBytes: late, lateToEarly: late / early };
      } finally {
        await worker.close();
        delivery.check(await contender.remaining());
      }
    }),
};
