/** The parent's side of a worker process: starts it, waits for what it says, and makes sure that it ends. */
import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import type { EnqueueReply, JobEventName } from '@fenceline/nestjs';
import { eventually } from './eventually.js';
import { redisUrl } from './redis.js';
import {
  OPTIONS_VARIABLE,
  type EnqueueRequest,
  type EventMessage,
  type FromWorker,
  type StartedMessage,
  type ToWorker,
  type WorkerProcessOptions,
} from './worker-protocol.js';

const START_TIMEOUT_MS = 20_000;

/** The compiled file of a fixture in this folder. `npm test` builds first. */
export function fixture(name: string): string {
  return join(process.cwd(), `dist/test/support/${name}.js`);
}

export interface Exit {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

export interface StartOptions extends Omit<WorkerProcessOptions, 'url'> {
  /** Default: the Redis of the test run. */
  readonly url?: string;
  /** By how much the process's clock is wrong. */
  readonly clockShiftMs?: number;
}

export class WorkerChild {
  readonly exited: Promise<Exit>;
  readonly pid: number;
  private readonly said: FromWorker[] = [];
  private output = '';
  private readonly child: ChildProcess;

  constructor({ clockShiftMs, ...options }: StartOptions) {
    this.child = fork(fixture('worker-process'), {
      execArgv: clockShiftMs === undefined ? [] : ['--import', fixture('shift-clock')],
      env: {
        PATH: process.env.PATH,
        [OPTIONS_VARIABLE]: JSON.stringify({ url: redisUrl(), ...options }),
        ...(clockShiftMs !== undefined && { CLOCK_SHIFT_MS: String(clockShiftMs) }),
      },
      stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    });
    this.pid = this.child.pid ?? 0;
    this.child.on('message', (message: FromWorker) => this.said.push(message));
    for (const stream of [this.child.stdout, this.child.stderr]) {
      stream?.setEncoding('utf8').on('data', (text: string) => (this.output += text));
    }
    this.exited = once(this.child, 'close').then(([code, signal]) => ({ code, signal }));
  }

  /** Until its app has started. */
  async ready(): Promise<this> {
    const failed = this.exited.then(() => {
      throw new Error(`The worker process did not start:\n${this.output}`);
    });
    await Promise.race([failed, this.hear(({ kind }) => kind === 'ready', 'its start', START_TIMEOUT_MS)]);
    return this;
  }

  /** Every run of the job's handler in this process. */
  starts(jobId: string): readonly StartedMessage[] {
    return this.said.filter((message) => message.kind === 'started').filter((m) => m.jobId === jobId);
  }

  events(event: JobEventName, jobId?: string): readonly EventMessage[] {
    return this.said
      .filter((message) => message.kind === 'event')
      .filter((message) => message.event === event && (jobId === undefined || message.jobId === jobId));
  }

  started(jobId: string): Promise<StartedMessage> {
    return eventually(() => this.starts(jobId)[0], { what: `the start of ${jobId}` });
  }

  emitted(event: JobEventName, jobId: string): Promise<EventMessage> {
    return eventually(() => this.events(event, jobId)[0], { what: `"${event}" of ${jobId}` });
  }

  /** Code of the reason with which the job's signal fired. */
  async aborted(jobId: string): Promise<string> {
    const message = await this.hear((m) => m.kind === 'aborted' && m.jobId === jobId, `abort of ${jobId}`);
    return message.kind === 'aborted' ? message.code : '';
  }

  /** Lets a `hold` return. */
  finish(jobId: string): void {
    this.tell({ kind: 'finish', jobId });
  }

  async enqueue(request: EnqueueRequest): Promise<EnqueueReply> {
    const before = this.replies().length;
    this.tell({ kind: 'enqueue', request });
    return eventually(() => this.replies()[before], { what: 'the reply to enqueue' });
  }

  kill(signal: NodeJS.Signals): void {
    this.child.kill(signal);
  }

  /** Sends SIGTERM and waits until it is heard. */
  async terminate(): Promise<void> {
    this.kill('SIGTERM');
    await this.hear(({ kind }) => kind === 'stopping', 'the shutdown');
  }

  private replies(): EnqueueReply[] {
    return this.said.filter((message) => message.kind === 'enqueued').map(({ reply }) => reply);
  }

  private tell(message: ToWorker): void {
    this.child.send(message);
  }

  private hear(is: (m: FromWorker) => boolean, what: string, timeoutMs = 10_000): Promise<FromWorker> {
    return eventually(() => this.said.find(is), { what, timeoutMs });
  }
}

/** All worker processes of a test. */
export class WorkerChildren {
  private readonly all: WorkerChild[] = [];

  constructor(private readonly defaults: () => StartOptions) {}

  /** Starts one and waits until it works. */
  async start(options: Partial<StartOptions> = {}): Promise<WorkerChild> {
    const child = new WorkerChild({ ...this.defaults(), ...options });
    this.all.push(child);
    return child.ready();
  }

  /** Also those that are stopped by a signal or ignore one. */
  async killAll(): Promise<void> {
    for (const child of this.all) child.kill('SIGKILL');
    await Promise.all(this.all.splice(0).map(({ exited }) => exited));
  }
}
