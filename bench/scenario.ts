/** What a scenario is, and what it gets: a contender of its choice on a Redis of its own. */
import type { Contender, ContenderName, ContenderSettings } from './contenders/contender.js';
import type { RedisProbe } from './measure.js';
import type { Sizes } from './sizes.js';

/** Figures of one run, by name. */
export type Metrics = Readonly<Record<string, number>>;

export interface Bench {
  readonly contender: ContenderName;
  readonly url: string;
  readonly redis: RedisProbe;
  readonly sizes: Sizes;
  /** What it opens must be closed; `withContender` does it. */
  open(settings?: OpenSettings): Promise<Contender>;
}

export type OpenSettings = Partial<Omit<ContenderSettings, 'url'>>;

export interface Scenario {
  readonly name: string;
  readonly contenders: readonly ContenderName[];
  /** `every` round for the main comparisons, `few` is a third of them, `once` for what takes long. */
  readonly rounds: 'every' | 'few' | 'once';
  /** `extra` scenarios run with --full, `growth` ones too and fill the second table. */
  readonly part: 'usual' | 'extra' | 'growth';
  /** Its contenders run side by side: they hardly use the machine. */
  readonly together?: boolean;
  /** Gets `global.gc`. */
  readonly exposeGc?: boolean;
  /** Must check the delivery of every job it enqueues, and throw when it was not exact. */
  run(bench: Bench): Promise<Metrics>;
}

/** Opens the contender for as long as `use` runs. */
export async function withContender<T>(
  bench: Bench,
  settings: OpenSettings,
  use: (contender: Contender) => Promise<T>,
): Promise<T> {
  const contender = await bench.open(settings);
  try {
    return await use(contender);
  } finally {
    await contender.close();
  }
}
