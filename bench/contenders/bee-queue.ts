/** Bee-Queue with everything off that this bench does not use: events between processes, job objects kept in memory. */
import BeeQueue from 'bee-queue';
import type { BenchPayload } from '../payload.js';
import type { Contender, ContenderSettings, JobOptions } from './contender.js';

const QUEUE = 'bench';
const CLOSE_TIMEOUT_MS = 5_000;

export async function openBeeQueue({ url, delayedJobs }: ContenderSettings): Promise<Contender> {
  const { hostname, port } = new URL(url);
  const settings: BeeQueue.QueueSettings = {
    redis: { host: hostname, port: Number(port) },
    removeOnSuccess: true,
    getEvents: false,
    sendEvents: false,
    storeJobs: false,
    activateDelayedJobs: delayedJobs,
  };
  const queue = new BeeQueue<BenchPayload>(QUEUE, { ...settings, isWorker: false });
  await queue.ready();

  return {
    enqueue: async (payload, options) => {
      await newJob(queue, payload, options).save();
    },
    enqueueMany: async (payloads, options) => {
      const errors = await queue.saveAll(payloads.map((payload) => newJob(queue, payload, options)));
      for (const error of errors.values()) throw error;
    },
    startWorker: async (concurrency, handler) => {
      const worker = new BeeQueue<BenchPayload>(QUEUE, { ...settings, isWorker: true });
      worker.on('error', (error) => console.error(error));
      await worker.ready();
      worker.process(concurrency, ({ data }) => handler(data));
      return { close: () => worker.close(CLOSE_TIMEOUT_MS) };
    },
    remaining: async () => {
      const { waiting, active, delayed, failed } = await queue.checkHealth();
      return waiting + active + delayed + failed;
    },
    close: () => queue.close(CLOSE_TIMEOUT_MS),
  };
}

function newJob(
  queue: BeeQueue<BenchPayload>,
  payload: BenchPayload,
  options: JobOptions | undefined,
): BeeQueue.Job<BenchPayload> {
  const job = queue.createJob(payload);
  if (options?.delayMs !== undefined) job.delayUntil(Date.now() + options.delayMs);
  if (options?.retries !== undefined) job.retries(options.retries);
  return job;
}
