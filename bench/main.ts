/** The bench: carries out every run, contenders alternating, and prints what came out. Started by `npm run bench`. */
import { writeFileSync } from 'node:fs';
import { findRedis, findServerBinary, NoRedisError } from '#scripts/find-redis.mjs';
import type { ContenderName } from './contenders/contender.js';
import { describeMachine } from './machine.js';
import { parseOptions, USAGE, type BenchOptions } from './options.js';
import { toJson, toMarkdown } from './report.js';
import { Results } from './results.js';
import { carryOut, killRuns } from './run.js';
import type { Scenario } from './scenario.js';
import { sizesOf } from './sizes.js';

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
process.once('exit', killRuns);
// A SIGTERM sent to npm ends the shell between npm and us, and we only notice that we have a new parent.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && process.exit(143), 500).unref();

process.exitCode = await main();

/** Fails when a run failed or was not exact; a bar that is missed is a finding, not a failure. */
async function main(): Promise<number> {
  let options: BenchOptions | undefined;
  try {
    options = parseOptions(process.argv.slice(2));
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}\n\n${USAGE}`);
    return 2;
  }
  if (!options) {
    console.log(USAGE);
    return 0;
  }
  const binary = await serverBinary();
  const { scale, rounds } = options;
  const startedAt = performance.now();
  const results = await runAll(options);
  const seconds = Math.round((performance.now() - startedAt) / 1_000);
  const report = { results, machine: describeMachine(binary), scale, sizes: sizesOf(scale), rounds, seconds };
  console.log(`\n${toMarkdown(report)}`);
  if (options.json !== undefined) writeFileSync(options.json, toJson(report));
  return results.failed.length === 0 ? 0 : 1;
}

/** Every run gets a server of its own, so a binary is needed; findRedis may install one. */
async function serverBinary(): Promise<string> {
  const found = findServerBinary();
  if (found !== undefined) return found;
  await (await findRedis()).stop();
  const installed = findServerBinary();
  if (installed === undefined) throw new NoRedisError('The bench needs a redis-server on PATH.');
  return installed;
}

async function runAll({ scenarios, rounds, scale }: BenchOptions): Promise<Results> {
  const results = new Results();
  // Round by round, so that a machine that slows down for a while does not hit one scenario only.
  for (let round = 1; round <= rounds; round++) {
    for (const scenario of scenarios) {
      if (round > roundsOf(scenario, rounds)) continue;
      const run = (contender: ContenderName): Promise<void> =>
        runOne(results, scenario, contender, round, scale);
      if (scenario.together === true || scale === 'tiny') {
        await Promise.all(scenario.contenders.map(run));
      } else {
        for (const contender of rotated(scenario.contenders, round)) await run(contender);
      }
    }
  }
  return results;
}

async function runOne(
  results: Results,
  scenario: Scenario,
  contender: ContenderName,
  round: number,
  scale: BenchOptions['scale'],
): Promise<void> {
  const startedAt = performance.now();
  const report = await carryOut(scenario, contender, scale);
  const which = { scenario: scenario.name, contender, round };
  if (report.ok) results.runs.push({ ...which, metrics: report.metrics });
  else results.failed.push({ ...which, reason: report.reason });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  console.error(`round ${round}  ${scenario.name}  ${contender}  ${seconds} s${report.ok ? '' : '  FAILED'}`);
}

function roundsOf({ rounds }: Scenario, of: number): number {
  if (rounds === 'every') return of;
  return rounds === 'few' ? Math.ceil(of / 3) : 1;
}

/** Each contender comes first in its turn. */
function rotated<T>(contenders: readonly T[], round: number): T[] {
  const by = (round - 1) % contenders.length;
  return [...contenders.slice(by), ...contenders.slice(0, by)];
}
