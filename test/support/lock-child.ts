/** The parent's side of a lock process: starts it, waits for what it says, and makes sure that it ends. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { eventually } from './eventually.js';
import {
  LOCK_OPTIONS_VARIABLE,
  type FromLocks,
  type LockProcessOptions,
  type ToLocks,
  type WriteMessage,
} from './lock-protocol.js';
import { fixture } from './worker-child.js';

const START_TIMEOUT_MS = 20_000;

type Said<K extends FromLocks['kind']> = Extract<FromLocks, { readonly kind: K }>;

export class LockChild {
  readonly exited: Promise<unknown>;
  /** Called for every fenced write that the process asks for. */
  onWrite: (message: WriteMessage) => void = () => {};
  private readonly said: FromLocks[] = [];
  private readonly child: ChildProcess;

  constructor(options: LockProcessOptions) {
    this.child = fork(fixture('lock-process'), {
      execArgv: [],
      env: { PATH: process.env.PATH, [LOCK_OPTIONS_VARIABLE]: JSON.stringify(options) },
    });
    this.child.on('message', (message: FromLocks) => {
      if (message.kind === 'write') this.onWrite(message);
      else this.said.push(message);
    });
    this.exited = once(this.child, 'close');
  }

  async ready(): Promise<this> {
    await this.hears('ready', START_TIMEOUT_MS);
    return this;
  }

  hears<K extends FromLocks['kind']>(kind: K, timeoutMs = 10_000): Promise<Said<K>> {
    const is = (message: FromLocks): message is Said<K> => message.kind === kind;
    return eventually(() => this.said.find(is), { what: `"${kind}" of a lock process`, timeoutMs });
  }

  tell(message: ToLocks): void {
    this.child.send(message);
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  async end(): Promise<void> {
    this.kill('SIGKILL');
    await this.exited;
  }
}

export async function startLockChildren(count: number, options: LockProcessOptions): Promise<LockChild[]> {
  return Promise.all(Array.from({ length: count }, () => new LockChild(options).ready()));
}
