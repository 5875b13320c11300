/** Runs a built entry point of the app as a process of its own, as `npm start` and Kubernetes do. */
import { spawn, type ChildProcessByStdio } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import type { Env } from './app.js';
import { eventually } from './eventually.js';

export class AppProcess {
  stdout = '';
  stderr = '';
  readonly exited: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
  private readonly child: ChildProcessByStdio<null, Readable, Readable>;

  constructor(entry: 'main' | 'worker', env: Env) {
    const { PATH = '' } = process.env;
    this.child = spawn(process.execPath, [join(process.cwd(), `dist/src/${entry}.js`)], {
      // Nothing of the test's own environment: REDIS_URL of `npm test` must not leak in.
      env: { PATH, NO_COLOR: '1', ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.child.stdout.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    this.child.stderr.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
    this.exited = once(this.child, 'close').then(([code, signal]) => ({ code, signal }));
  }

  /** Where it listens, once it says so. */
  async url(): Promise<string> {
    const url = await eventually(
      () => {
        if (this.child.exitCode !== null) throw new Error(`It ended: ${this.stderr}`);
        return /listens on (http:\S+)/.exec(this.stdout)?.[1];
      },
      (found) => found !== undefined,
    );
    return String(url);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }
}
