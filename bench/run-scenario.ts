/** The process of one run: one scenario with one contender, on the Redis it was given. */
import { openContender } from './contenders/open-contender.js';
import { DEFAULT_SETTINGS } from './contenders/contender.js';
import { RedisProbe } from './measure.js';
import { RUN_VARIABLE, type RunReport, type RunRequest } from './run-protocol.js';
import { scenarioOf } from './scenarios/all.js';
import { sizesOf } from './sizes.js';

// The orchestrator is gone; nobody wants the result any more.
process.once('disconnect', () => process.exit(1));

const report = await run(JSON.parse(process.env[RUN_VARIABLE] ?? '') as RunRequest);
// Whatever a contender left open must not keep the process alive.
process.send?.(report, undefined, undefined, () => process.exit(0));

async function run({ scenario, contender, scale, url }: RunRequest): Promise<RunReport> {
  const redis = new RedisProbe(url);
  try {
    const metrics = await scenarioOf(scenario).run({
      contender,
      url,
      redis,
      sizes: sizesOf(scale),
      open: (settings) => openContender(contender, { ...DEFAULT_SETTINGS, ...settings, url }),
    });
    return { ok: true, metrics };
  } catch (error) {
    return { ok: false, reason: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  } finally {
    redis.close();
  }
}
