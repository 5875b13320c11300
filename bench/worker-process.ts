/** One of many worker processes with concurrency 1: works until it is told to stop, then says what it started. */
import { openContender } from './contenders/open-contender.js';
import { DEFAULT_SETTINGS } from './contenders/contender.js';
import { machineTimeMs, WORKER_VARIABLE, type FromWorker, type WorkerRequest } from './worker-protocol.js';

// Nobody will tell it to stop any more.
process.once('disconnect', () => process.exit(1));

const request = JSON.parse(process.env[WORKER_VARIABLE] ?? '') as WorkerRequest;
const started: number[] = [];
let lastAt = 0;

const contender = await openContender(request.contender, { ...DEFAULT_SETTINGS, url: request.url });
const worker = await contender.startWorker(1, async ({ seq }) => {
  started.push(seq);
  lastAt = machineTimeMs();
});

process.once('message', () => void stop());
say({ kind: 'ready' });

async function stop(): Promise<void> {
  await worker.close();
  say({ kind: 'stopped', started, lastAt }, () => process.exit(0));
}

function say(message: FromWorker, sent?: () => void): void {
  process.send?.(message, undefined, undefined, sent);
}
