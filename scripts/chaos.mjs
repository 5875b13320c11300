// `npm run test:chaos`: every fault alone, then mixed at random. `-- --long` runs only the mix, for many rounds;
// `--rounds N` says how many, `--seed N` (or CHAOS_SEED) repeats the random choices. What is left goes to Jest.
import { spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { values, tokens } = parseArgs({
  options: { long: { type: 'boolean' }, rounds: { type: 'string' }, seed: { type: 'string' } },
  strict: false,
  tokens: true,
});
const ours = new Set(['long', 'rounds', 'seed']);
const forJest = tokens
  .filter((token) => !(token.kind === 'option' && ours.has(token.name)))
  .map((token) => token.rawName ?? token.value ?? '--');

const env = {
  ...process.env,
  ...(values.long && { CHAOS_LONG: '1' }),
  ...(values.rounds && { CHAOS_ROUNDS: values.rounds }),
  CHAOS_SEED: values.seed ?? process.env.CHAOS_SEED ?? String(randomInt(2 ** 31)),
};
console.log(`CHAOS_SEED=${env.CHAOS_SEED}`);
const only = values.long && forJest.length === 0 ? ['scenarios/mixed'] : forJest;
const jest = ['scripts/test.mjs', '--config', 'test/chaos/jest.config.js', ...only];
process.exitCode = spawnSync(process.execPath, jest, { cwd: root, env, stdio: 'inherit' }).status ?? 1;
