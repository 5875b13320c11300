/** How many jobs and how long, by scale: the only numbers of the bench that may change what a figure says. */
export const SCALES = ['full', 'quick', 'tiny'] as const;
export type Scale = (typeof SCALES)[number];

/** `full` is what gets published, `quick` answers in a minute, `tiny` only shows that everything still works. */
const BY_SCALE = {
  warmUpJobs: { full: 5_000, quick: 2_000, tiny: 20 },

  /** The bytes per job depend on how full Redis's table of keys is: equally full with 10,000 and 20,000. */
  enqueueManyJobs: { full: 20_000, quick: 10_000, tiny: 120 },
  enqueueInFlightJobs: { full: 20_000, quick: 10_000, tiny: 120 },
  enqueueSingleJobs: { full: 3_000, quick: 1_000, tiny: 40 },

  pickUps: { full: 250, quick: 100, tiny: 10 },
  openLoopMs: { full: 1_000, quick: 400, tiny: 100 },
  /** Several times the interval at which an idle worker claims, promotes and reaps, once in `quick`. */
  idleMs: { full: 15_000, quick: 6_000, tiny: 500 },
  retentionJobs: { full: 30_000, quick: 12_000, tiny: 120 },
  delayedJobs: { full: 1_000, quick: 300, tiny: 20 },
  /** The delays of those jobs are spread over this, and the shortest is half of it. */
  delaySpreadMs: { full: 1_000, quick: 300, tiny: 100 },
  retriedJobs: { full: 5_000, quick: 2_000, tiny: 40 },
  memoryJobs: { full: 100_000, quick: 30_000, tiny: 120 },

  /** Jobs processed while the backlog is held at its size. */
  backlogJobs: { full: 30_000, quick: 10_000, tiny: 200 },
  backlogSmall: { full: 1_000, quick: 1_000, tiny: 100 },
  backlogMedium: { full: 100_000, quick: 20_000, tiny: 200 },
  backlogLarge: { full: 1_000_000, quick: 50_000, tiny: 400 },

  workerProcesses: { full: 20, quick: 20, tiny: 2 },
  workerProcessesJobs: { full: 10_000, quick: 10_000, tiny: 40 },
  heapEarlyJobs: { full: 100_000, quick: 20_000, tiny: 200 },
  heapLateJobs: { full: 1_000_000, quick: 200_000, tiny: 1_000 },
  payloadJobs: { full: 10_000, quick: 5_000, tiny: 60 },
  hotKeyJobs: { full: 3_000, quick: 1_500, tiny: 60 },
  heldJobs: { full: 1_000, quick: 1_000, tiny: 50 },
  heldMs: { full: 60_000, quick: 12_000, tiny: 500 },

  /** A run that has not started all its jobs by then is given up. */
  patienceMs: { full: 120_000, quick: 60_000, tiny: 60_000 },
} as const satisfies Record<string, Record<Scale, number>>;

export type Sizes = Readonly<Record<keyof typeof BY_SCALE, number>>;

export function sizesOf(scale: Scale): Sizes {
  const entries = Object.entries(BY_SCALE).map(([name, values]) => [name, values[scale]]);
  return Object.fromEntries(entries) as Sizes;
}
