// Builds everything: `tsc -b`, plus the two things tsc does not do. It copies the .lua files next to the
// compiled code, and it removes outputs whose source has vanished. `--app` builds only what the app needs, so
// that a test that does not compile keeps nobody from starting it. `--clean` only removes all outputs.
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const library = { sources: join(root, 'libs/job-queue/src'), outputs: join(root, 'libs/job-queue/dist') };
const application = { sources: root, outputs: join(root, 'dist') };

if (process.argv.includes('--clean')) {
  for (const { outputs } of [library, application]) rmSync(outputs, { recursive: true, force: true });
} else {
  if ([library, application].map(removeStale).some(Boolean)) forgetIncrementalState();
  copyLua();
  process.exitCode = compile();
}

/** Returns whether anything was removed. */
function removeStale({ sources, outputs }) {
  let removed = false;
  for (const path of files(outputs)) {
    const source = path.replace(/\.(js|js\.map|d\.ts)$/, '.ts');
    if (/\.(ts|lua)$/.test(source) && !existsSync(join(sources, source))) {
      rmSync(join(outputs, path));
      removed = true;
    }
  }
  return removed;
}

/** Otherwise tsc would not look again at files that import what is gone. */
function forgetIncrementalState() {
  for (const { outputs } of [library, application]) {
    for (const path of files(outputs)) {
      if (path.startsWith('.tsbuildinfo')) rmSync(join(outputs, path));
    }
  }
}

function copyLua() {
  for (const path of files(library.sources)) {
    if (path.endsWith('.lua')) cpSync(join(library.sources, path), join(library.outputs, path));
  }
}

function compile() {
  const tsc = join(root, 'node_modules/typescript/bin/tsc');
  const projects = process.argv.includes('--app') ? ['tsconfig.app.json'] : [];
  return spawnSync(process.execPath, [tsc, '-b', ...projects], { cwd: root, stdio: 'inherit' }).status ?? 1;
}

function files(directory) {
  return existsSync(directory) ? readdirSync(directory, { recursive: true }) : [];
}
