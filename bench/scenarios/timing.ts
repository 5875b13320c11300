/** Jobs that do not simply run: delayed ones, and ones that fail once. */
import { drain, enqueueInBulk, startOnly, warmUp } from './drain.js';
import { Delivery } from '../delivery.js';
import { percentile } from '../measure.js';
import { payloads } from '../payload.js';
import { withContender, type Scenario } from '../scenario.js';

const CONCURRENCY = 100;
const CONTENDERS = ['fenceline', 'bullmq', 'bee-queue'] as const;

/** How much later than asked for delayed jobs start. */
export const delayed: Scenario = {
  name: 'delayed',
  contenders: CONTENDERS,
  rounds: 'few',
  part: 'usual',
  run: async (bench) => {
    const { delayedJobs: jobs, delaySpreadMs } = bench.sizes;
    const settings = { delayedJobs: true };
    await warmUp(bench, settings);
    return withContender(bench, settings, async (contender) => {
      const delivery = new Delivery(jobs);
      const dueAt = new Float64Array(jobs);
      const lateness: number[] = [];
      const start = startOnly(delivery);
      const draining = drain(bench, contender, CONCURRENCY, delivery, (payload) => {
        lateness.push(performance.now() - (dueAt[payload.seq] ?? Number.NaN));
        return start(payload);
      });
      const enqueuing = Promise.all(
        payloads(jobs).map((payload, i) => {
          const delayMs = Math.round(delaySpreadMs / 2 + (i * delaySpreadMs) / jobs);
          dueAt[i] = performance.now() + delayMs;
          return contender.enqueue(payload, { delayMs });
        }),
      );
      await Promise.all([enqueuing, draining]);
      return {
        latenessP50: percentile(lateness, 0.5),
        latenessP99: percentile(lateness, 0.99),
        latenessMax: Math.max(...lateness),
      };
    });
  },
};

/** Every job fails once and then succeeds. */
export const retries: Scenario = {
  name: 'retries',
  contenders: CONTENDERS,
  rounds: 'few',
  part: 'usual',
  run: async (bench) => {
    const { retriedJobs: jobs } = bench.sizes;
    const settings = { promptRetries: true };
    await warmUp(bench, settings);
    return withContender(bench, settings, async (contender) => {
      const delivery = new Delivery(jobs, 2);
      await enqueueInBulk(contender, payloads(jobs), { retries: 1 });
      await drain(bench, contender, CONCURRENCY, delivery, async ({ seq }) => {
        if (delivery.start(seq) === 1) throw new Error('fails once');
      });
      return { jobsPerSecond: delivery.startsPerSecond / 2 };
    });
  },
};
