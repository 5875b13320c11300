/** What grows with what: the depth of the queue, the payload, the resource keys, the jobs that run at once. */
import { drain, enqueueInBulk, JOBS_PER_CALL, sleep, warmUp } from './drain.js';
import { processWithBacklog } from './held-backlog.js';
import { measureThroughput } from './throughput.js';
import { Delivery } from '../delivery.js';
import { costPerJob } from '../measure.js';
import { payloads } from '../payload.js';
import { withContender, type Bench, type Metrics, type Scenario } from '../scenario.js';

const CONCURRENCY = 100;
/** Until a thousand jobs are claimed and the burst is over. */
const GET_GOING_MS = 300;

export const growthScenarios: readonly Scenario[] = [
  growth('growth-backlog-small', (bench) => backlogOf(bench, bench.sizes.backlogSmall)),
  growth('growth-backlog-medium', (bench) => backlogOf(bench, bench.sizes.backlogMedium)),
  growth('growth-backlog-large', (bench) => backlogOf(bench, bench.sizes.backlogLarge)),
  growth('growth-payload-100', (bench) => payloadOf(bench, 100)),
  growth('growth-payload-10000', (bench) => payloadOf(bench, 10_000)),
  growth('growth-keys-1', (bench) => hotKeys(bench, 1)),
  growth('growth-keys-10', (bench) => hotKeys(bench, 10)),
  growth('growth-keys-100', (bench) => hotKeys(bench, 100)),
  growth('growth-running', running),
];

function growth(name: string, run: (bench: Bench) => Promise<Metrics>): Scenario {
  return { name, contenders: ['fenceline'], rounds: 'once', part: 'growth', run };
}

async function backlogOf(bench: Bench, backlog: number): Promise<Metrics> {
  await warmUp(bench);
  return processWithBacklog(bench, backlog, bench.sizes.backlogJobs);
}

function payloadOf(bench: Bench, payloadBytes: number): Promise<Metrics> {
  const jobs = bench.sizes.payloadJobs;
  return measureThroughput(bench, { jobs, concurrency: CONCURRENCY, enqueue: enqueueInBulk, payloadBytes });
}

/** All jobs share a few resource keys, so nearly all of the queue is blocked behind the one that runs. */
async function hotKeys(bench: Bench, keys: number): Promise<Metrics> {
  const jobs = bench.sizes.hotKeyJobs;
  await warmUp(bench);
  return withContender(bench, {}, async (contender) => {
    const given = payloads(jobs);
    const delivery = new Delivery(jobs);
    for (let from = 0; from < jobs; from += JOBS_PER_CALL) {
      const portion = given.slice(from, from + JOBS_PER_CALL);
      for (let key = 0; key < keys; key++) {
        const ofKey = portion.filter(({ seq }) => seq % keys === key);
        await contender.enqueueMany(ofKey, { resourceKey: `user:${key}` });
      }
    }
    const before = await bench.redis.read();
    await drain(bench, contender, CONCURRENCY, delivery);
    const cost = costPerJob(before, await bench.redis.read(), jobs);
    return {
      processRate: delivery.startsPerSecond,
      processRedisMicros: cost.redisMicros,
      processCommands: cost.commands,
    };
  });
}

/** Long jobs: what keeping their leases costs. */
async function running(bench: Bench): Promise<Metrics> {
  const { heldJobs: jobs, heldMs } = bench.sizes;
  return withContender(bench, {}, async (contender) => {
    const delivery = new Delivery(jobs);
    let release: () => void = () => undefined;
    const released = new Promise<void>((resolve) => (release = resolve));
    await enqueueInBulk(contender, payloads(jobs));
    const measured = delivery.complete(bench.sizes.patienceMs).then(async () => {
      await sleep(GET_GOING_MS);
      const rates = await bench.redis.watchCommands(heldMs);
      release();
      return { ...rates };
    });
    const worker = await contender.startWorker(jobs, ({ seq }) => {
      delivery.start(seq);
      return released;
    });
    try {
      return await measured;
    } finally {
      release();
      await worker.close();
      delivery.check(await contender.remaining());
    }
  });
}
