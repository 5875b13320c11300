// Installs the dependencies when they are missing or differ from package-lock.json, so that a fresh clone
// needs nothing but `npm start` or `npm test`. Does nothing, in a few milliseconds, when they are in place.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

const root = new URL('../', import.meta.url);

requireNode(readJson('package.json').engines.node);

const reason = whyStale(readJson('package-lock.json'), readInstalled());
if (reason) {
  console.log(`Installing dependencies with "npm ci": ${reason}.`);
  process.exit(npmCi());
}

function requireNode(range) {
  const numbers = (version) => version.match(/\d+/g).map(Number);
  const [major, minor = 0] = numbers(range);
  const [haveMajor, haveMinor] = numbers(process.versions.node);
  if (haveMajor > major || (haveMajor === major && haveMinor >= minor)) return;
  console.error(`This project needs Node ${range}; this is Node ${process.versions.node}.`);
  process.exit(1);
}

/**
 * npm records what it installed in node_modules/.package-lock.json, as the last step of an install. Comparing
 * that with the lock file also recognises an install that someone made by hand, or one that was cut short.
 */
function whyStale(lock, installed) {
  if (!installed) return 'node_modules is missing or incomplete';
  for (const [path, wanted] of Object.entries(lock.packages)) {
    const found = installed.packages[path];
    // Optional packages are binaries for other platforms.
    if (path === '' || (!found && wanted.optional)) continue;
    if (!found) return `${path} is missing`;
    if (found.version !== wanted.version || found.integrity !== wanted.integrity) {
      return `${path} differs from package-lock.json`;
    }
  }
  const extra = Object.keys(installed.packages).find((path) => !(path in lock.packages));
  return extra && `${extra} is not in package-lock.json`;
}

function npmCi() {
  // The engine warnings hidden by --loglevel come from packages below the Nest CLI, which does run on Node 20.
  const args = ['ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  // npm tells its scripts where it lives; calling it that way also works on Windows, where npm is a .cmd file.
  const npm = process.env.npm_execpath;
  const options = { cwd: root, stdio: ['ignore', 'inherit', 'inherit'] };
  const result = npm ? spawnSync(process.execPath, [npm, ...args], options) : spawnSync('npm', args, options);
  if (result.error) console.error(`Could not run npm: ${result.error.message}.`);
  return result.status ?? 1;
}

function readInstalled() {
  try {
    return readJson('node_modules/.package-lock.json');
  } catch {
    return undefined;
  }
}

function readJson(path) {
  return JSON.parse(readFileSync(new URL(path, root), 'utf8'));
}
