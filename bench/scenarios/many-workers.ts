/** Many small workers: processes with concurrency 1 that share one queue. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { enqueueInBulk, sleep } from './drain.js';
import { Delivery } from '../delivery.js';
import { costPerJob } from '../measure.js';
import { payloads } from '../payload.js';
import { withContender, type Bench, type Scenario } from '../scenario.js';
import { machineTimeMs, WORKER_VARIABLE, type FromWorker, type WorkerRequest } from '../worker-protocol.js';

const POLL_MS = 20;

export const manyWorkers: Scenario = {
  name: 'many-workers',
  contenders: ['fenceline', 'bullmq', 'bee-queue'],
  rounds: 'once',
  part: 'extra',
  run: (bench) =>
    withContender(bench, {}, async (contender) => {
      const { workerProcesses, workerProcessesJobs: jobs, patienceMs } = bench.sizes;
      const delivery = new Delivery(jobs);
      const workers = await Promise.all(
        Array.from({ length: workerProcesses }, () => WorkerProcess.start(bench)),
      );
      const before = await bench.redis.read();
      const beginsAt = machineTimeMs();
      await enqueueInBulk(contender, payloads(jobs));
      const givesUpAt = beginsAt + patienceMs;
      while ((await contender.remaining()) > 0 && machineTimeMs() < givesUpAt) await sleep(POLL_MS);
      const after = await bench.redis.read();

      const reports = await Promise.all(workers.map((worker) => worker.stop()));
      for (const seq of reports.flatMap(({ started }) => started)) delivery.start(seq);
      delivery.check(await contender.remaining());
      const endsAt = Math.max(...reports.map(({ lastAt }) => lastAt));
      return {
        jobsPerSecond: (jobs / (endsAt - beginsAt)) * 1_000,
        redisMicros: costPerJob(before, after, jobs).redisMicros,
      };
    }),
};

type Report = Extract<FromWorker, { kind: 'stopped' }>;

class WorkerProcess {
  private constructor(private readonly child: ChildProcess) {}

  static async start({ contender, url }: Bench): Promise<WorkerProcess> {
    const request: WorkerRequest = { contender, url };
    const child = fork(fileURLToPath(new URL('../worker-process.js', import.meta.url)), {
      env: { ...process.env, [WORKER_VARIABLE]: JSON.stringify(request) },
      execArgv: [],
    });
    const worker = new WorkerProcess(child);
    await worker.hear('ready');
    return worker;
  }

  async stop(): Promise<Report> {
    const report = this.hear('stopped');
    this.child.send('stop');
    return report;
  }

  private async hear<K extends FromWorker['kind']>(kind: K): Promise<Extract<FromWorker, { kind: K }>> {
    const died = once(this.child, 'exit').then(() => {
      throw new Error(`A worker process ended before it was ${kind}`);
    });
    const heard = new Promise<Extract<FromWorker, { kind: K }>>((resolve) => {
      this.child.on('message', (message: FromWorker) => {
        if (isOf(message, kind)) resolve(message);
      });
    });
    return Promise.race([heard, died]);
  }
}

function isOf<K extends FromWorker['kind']>(
  message: FromWorker,
  kind: K,
): message is Extract<FromWorker, { kind: K }> {
  return message.kind === kind;
}
