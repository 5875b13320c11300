// `npm test`: builds, finds a real Redis (see find-redis.mjs) and runs Jest against it. Arguments go to Jest:
// `npm test -- lock --coverage`. Whatever happens, the Redis started here is stopped.
import { spawn } from 'node:child_process';
import { constants } from 'node:os';
import { fileURLToPath } from 'node:url';
import { findRedis, findServerBinary, NoRedisError } from './find-redis.mjs';

const root = fileURLToPath(new URL('..', import.meta.url));
const KILL_AFTER_MS = 5_000;

let running;
let interruptedBy;
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, interrupt);

// A SIGTERM sent to npm ends the shell between npm and us, and we only notice that we have a new parent.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && interrupt('SIGTERM'), 500).unref();

process.exitCode = await main();

async function main() {
  const built = await node(['scripts/build.mjs']);
  if (built !== 0) return built;

  let redis;
  try {
    redis = await findRedis();
  } catch (error) {
    if (!(error instanceof NoRedisError)) throw error;
    console.error(error.message);
    return 1;
  }
  console.log(`Redis: ${redis.from}`);
  try {
    return await runJest(redis);
  } finally {
    await redis.stop();
  }
}

function interrupt(signal) {
  if (interruptedBy) return;
  interruptedBy = signal;
  running?.kill(signal);
  setTimeout(() => running?.kill('SIGKILL'), KILL_AFTER_MS).unref();
}

function runJest(redis) {
  const binary = redis.binary ?? findServerBinary();
  const flags = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  return node([...flags, 'node_modules/jest/bin/jest.js', ...process.argv.slice(2)], {
    REDIS_URL: redis.url,
    // For tests that start, kill or freeze a server of their own.
    ...(binary && { REDIS_SERVER_BIN: binary }),
  });
}

/** Resolves to the exit code, by the shell's convention of 128 + signal when that is what ended it. */
async function node(args, env = {}) {
  if (interruptedBy) return 128 + constants.signals[interruptedBy];
  running = spawn(process.execPath, args, { cwd: root, stdio: 'inherit', env: { ...process.env, ...env } });
  const [code, signal] = await new Promise((resolve, reject) => {
    running.once('error', reject);
    running.once('exit', (...how) => resolve(how));
  });
  running = undefined;
  const endedBy = interruptedBy ?? signal;
  return endedBy ? 128 + constants.signals[endedBy] : code;
}
