/** Carries out one run: a fresh Redis, a fresh process, and what became of it. */
import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { startServer } from '#scripts/find-redis.mjs';
import type { ContenderName } from './contenders/contender.js';
import { RUN_VARIABLE, type RunReport, type RunRequest } from './run-protocol.js';
import type { Scenario } from './scenario.js';
import { sizesOf, type Scale } from './sizes.js';

/** On top of the time a scenario waits for its jobs. */
const REST_OF_RUN_MS = 120_000;
const OUTPUT_KEPT = 4_000;

const running = new Set<ChildProcess>();

/** For an orchestrator that ends early. */
export function killRuns(): void {
  for (const child of running) child.kill('SIGKILL');
}

export async function carryOut(
  scenario: Scenario,
  contender: ContenderName,
  scale: Scale,
): Promise<RunReport> {
  const server = await startServer();
  try {
    return await runProcess({ scenario: scenario.name, contender, scale, url: server.url }, scenario);
  } finally {
    await server.stop();
  }
}

async function runProcess(request: RunRequest, { exposeGc = false }: Scenario): Promise<RunReport> {
  const child = fork(fileURLToPath(new URL('./run-scenario.js', import.meta.url)), {
    env: { ...process.env, [RUN_VARIABLE]: JSON.stringify(request) },
    execArgv: ['--enable-source-maps', ...(exposeGc ? ['--expose-gc'] : [])],
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  running.add(child);
  let output = '';
  let report: RunReport | undefined;
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (text: string) => (output = (output + text).slice(-OUTPUT_KEPT)));
  }
  child.on('message', (message: RunReport) => (report = message));
  const timer = setTimeout(() => child.kill('SIGKILL'), sizesOf(request.scale).patienceMs + REST_OF_RUN_MS);
  const how = await new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(`exit ${code ?? signal}`));
  });
  clearTimeout(timer);
  running.delete(child);
  if (!report) return { ok: false, reason: `The process gave no report (${how}):\n${output}` };
  return report.ok ? report : { ok: false, reason: output ? `${report.reason}\n${output}` : report.reason };
}
