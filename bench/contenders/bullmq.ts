/** BullMQ with its defaults, except for the completed jobs it keeps. */
import { Queue, Worker, type JobsOptions } from 'bullmq';
import type { BenchPayload } from '../payload.js';
import type { Contender, ContenderSettings, JobOptions } from './contender.js';

const QUEUE = 'bench';
const JOB_NAME = 'send_email';
/** The same number as Fenceline's default retention. */
const KEPT_JOBS = 10_000;

export async function openBullmq({ url, keep }: ContenderSettings): Promise<Contender> {
  const { hostname, port } = new URL(url);
  const connection = { host: hostname, port: Number(port), maxRetriesPerRequest: null };
  const removeOnComplete = keep === 'nothing' ? true : { count: KEPT_JOBS };
  const queue = new Queue<BenchPayload>(QUEUE, { connection, defaultJobOptions: { removeOnComplete } });
  await queue.waitUntilReady();

  return {
    enqueue: async (payload, options) => {
      await queue.add(JOB_NAME, payload, toJobsOptions(options));
    },
    enqueueMany: async (payloads, options) => {
      const opts = toJobsOptions(options);
      await queue.addBulk(payloads.map((data) => ({ name: JOB_NAME, data, ...(opts && { opts }) })));
    },
    startWorker: async (concurrency, handler) => {
      const worker = new Worker<BenchPayload>(QUEUE, ({ data }) => handler(data), {
        connection,
        concurrency,
      });
      worker.on('error', (error) => console.error(error));
      await worker.waitUntilReady();
      return { close: () => worker.close() };
    },
    remaining: async () => {
      const counts = await queue.getJobCounts('wait', 'active', 'delayed', 'prioritized', 'failed');
      return Object.values(counts).reduce((sum, count) => sum + count, 0);
    },
    close: () => queue.close(),
  };
}

function toJobsOptions(options: JobOptions | undefined): JobsOptions | undefined {
  if (!options) return undefined;
  const { delayMs, retries } = options;
  return {
    ...(delayMs !== undefined && { delay: delayMs }),
    ...(retries !== undefined && { attempts: 1 + retries }),
  };
}
