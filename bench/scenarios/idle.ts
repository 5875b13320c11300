/** An idle worker: how many commands it sends while nothing happens. */
import { drain, enqueueInBulk, sleep } from './drain.js';
import { Delivery } from '../delivery.js';
import { payloads } from '../payload.js';
import { withContender, type Scenario } from '../scenario.js';

const CONCURRENCY = 10;
const JOBS = 20;
/** Until the boot is over. */
const GET_IDLE_MS = 500;

export const idle: Scenario = {
  name: 'idle',
  contenders: ['fenceline', 'bullmq', 'bee-queue'],
  rounds: 'once',
  part: 'usual',
  together: true,
  run: (bench) =>
    withContender(bench, {}, async (contender) => {
      const delivery = new Delivery(JOBS);
      await enqueueInBulk(contender, payloads(JOBS));
      await drain(bench, contender, CONCURRENCY, delivery);

      const worker = await contender.startWorker(CONCURRENCY, async ({ seq }) => {
        delivery.start(seq);
      });
      try {
        await sleep(GET_IDLE_MS);
        return { ...(await bench.redis.watchCommands(bench.sizes.idleMs)) };
      } finally {
        await worker.close();
        delivery.check(await contender.remaining());
      }
    }),
};
