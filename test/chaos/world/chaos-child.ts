/** The parent's side of one process of a chaos run. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { eventually } from '../../support/eventually.js';
import {
  OPTIONS_VARIABLE,
  type ChaosProcessOptions,
  type FromChaosProcess,
  type Task,
  type ToChaosProcess,
} from '../processes/protocol.js';

const START_TIMEOUT_MS = 30_000;

export type Role = 'worker' | 'producer';

export class ChaosChild {
  readonly name: string;
  readonly pid: number;
  readonly exited: Promise<number | null>;
  hasExited = false;
  private readonly said: FromChaosProcess[] = [];
  private output = '';
  private readonly child: ChildProcess;

  constructor(
    readonly role: Role,
    options: ChaosProcessOptions,
    clockShiftMs: number,
  ) {
    this.name = options.name;
    const built = (path: string): string => join(process.cwd(), 'dist/test', path);
    this.child = fork(built(`chaos/processes/chaos-${role}.js`), {
      execArgv: clockShiftMs === 0 ? [] : ['--import', built('support/shift-clock.js')],
      env: {
        PATH: process.env.PATH,
        [OPTIONS_VARIABLE]: JSON.stringify(options),
        CLOCK_SHIFT_MS: String(clockShiftMs),
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.pid = this.child.pid ?? 0;
    this.child.on('message', (message: FromChaosProcess) => this.said.push(message));
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.exited = once(this.child, 'exit').then(([code]) => {
      this.hasExited = true;
      return code as number | null;
    });
  }

  /** What it wrote to its standard streams: nothing, unless something is wrong. */
  get complaints(): string {
    return this.output;
  }

  async ready(): Promise<void> {
    await this.hear('ready', START_TIMEOUT_MS);
  }

  /** Resolves once its last enqueue was answered. */
  async stopProducing(): Promise<void> {
    this.tell({ kind: 'stop_producing' });
    await this.hear('produced', START_TIMEOUT_MS);
  }

  enqueue(jobs: number, task: Task): void {
    this.tell({ kind: 'enqueue', jobs, task });
  }

  async health(): Promise<Extract<FromChaosProcess, { kind: 'health' }>> {
    const before = this.said.length;
    this.tell({ kind: 'tell_health' });
    return eventually(() => this.said.slice(before).find((message) => message.kind === 'health'), {
      what: `the health of ${this.name}`,
    });
  }

  signal(signal: NodeJS.Signals): void {
    if (!this.hasExited) this.child.kill(signal);
  }

  private tell(message: ToChaosProcess): void {
    if (this.child.connected) this.child.send(message);
  }

  private async hear(kind: FromChaosProcess['kind'], timeoutMs: number): Promise<void> {
    await eventually(
      () => {
        if (this.hasExited) throw new Error(`${this.name} has exited: ${this.output}`);
        return this.said.some((message) => message.kind === kind);
      },
      { what: `"${kind}" of ${this.name}`, timeoutMs },
    );
  }
}
