/** Counts how often each job of a run was started: a run in which a job is missing or repeated does not count. */
const REPORT_AT_MOST = 5;

export class Delivery {
  /** When the first and the last expected start happened, by `performance.now()`. */
  firstAt = 0;
  lastAt = 0;
  private readonly starts: Uint8Array;
  private readonly expectedStarts: number;
  private started = 0;
  private readonly allStarted: Promise<void>;
  private resolve: () => void = () => undefined;

  constructor(
    private readonly jobs: number,
    private readonly startsPerJob = 1,
  ) {
    this.starts = new Uint8Array(jobs);
    this.expectedStarts = jobs * startsPerJob;
    this.allStarted = new Promise((resolve) => (this.resolve = resolve));
  }

  get count(): number {
    return this.started;
  }

  /** Returns which start of the job this is. Called for every job, so it only counts. */
  start(seq: number): number {
    if (this.started === 0) this.firstAt = performance.now();
    const nth = (this.starts[seq] ?? 0) + 1;
    this.starts[seq] = nth;
    if (++this.started === this.expectedStarts) {
      this.lastAt = performance.now();
      this.resolve();
    }
    return nth;
  }

  /** Between the first and the last start: neither the boot of the worker nor its shutdown is in it. */
  get startsPerSecond(): number {
    return (this.expectedStarts / (this.lastAt - this.firstAt)) * 1_000;
  }

  async complete(patienceMs: number): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const tooLate = new Promise<never>((_, reject) => {
      timer = setTimeout(() => {
        reject(new Error(`Only ${this.started} of ${this.expectedStarts} starts after ${patienceMs} ms`));
      }, patienceMs);
    });
    await Promise.race([this.allStarted, tooLate]).finally(() => clearTimeout(timer));
  }

  /** Call it when the worker is closed. @throws Error naming jobs that were not started exactly as often as they should. */
  check(remaining: number): void {
    const wrong: string[] = [];
    for (let seq = 0; seq < this.jobs && wrong.length < REPORT_AT_MOST; seq++) {
      const times = this.starts[seq];
      if (times !== this.startsPerJob) wrong.push(`job ${seq} started ${times} times`);
    }
    // A number beyond the run's jobs is counted, but has no place in `starts`.
    if (this.started !== this.expectedStarts) {
      wrong.push(`${this.started} starts instead of ${this.expectedStarts}`);
    }
    if (remaining > 0) wrong.push(`${remaining} jobs have not ended`);
    if (wrong.length > 0) throw new Error(`Not delivered exactly once: ${wrong.join(', ')}`);
  }
}
