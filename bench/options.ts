/** The command line of the bench. */
import { parseArgs } from 'node:util';
import { figuresOf } from './figures.js';
import type { Scenario } from './scenario.js';
import { SCENARIOS } from './scenarios/all.js';
import { SCALES, type Scale } from './sizes.js';

export const USAGE = `npm run bench -- [options]
  --quick          fewer rounds and jobs: under a minute instead of three to four
  --full           also the slow scenarios: heap, 20 worker processes, and the growth table
  --only <name>    only this figure or scenario (or those that start so); may be repeated
  --rounds <n>     how often the main comparisons are repeated (5; with --quick 2)
  --scale <scale>  ${SCALES.join(', ')}: how many jobs; tiny says nothing about speed
  --json <file>    also write everything that was measured to this file
  --help`;

export interface BenchOptions {
  readonly scale: Scale;
  readonly rounds: number;
  readonly scenarios: readonly Scenario[];
  readonly json: string | undefined;
}

const ROUNDS: Readonly<Record<Scale, number>> = { full: 5, quick: 2, tiny: 1 };

/** `undefined`: asked for help. @throws Error that says what is wrong with the arguments. */
export function parseOptions(args: readonly string[]): BenchOptions | undefined {
  const { values } = parseArgs({
    args: [...args],
    options: {
      quick: { type: 'boolean', default: false },
      full: { type: 'boolean', default: false },
      only: { type: 'string', multiple: true, default: [] },
      rounds: { type: 'string' },
      scale: { type: 'string' },
      json: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return undefined;
  const scale = toScale(values.scale ?? (values.quick ? 'quick' : 'full'));
  return {
    scale,
    rounds:
      values.rounds === undefined
        ? ROUNDS[values.quick && scale === 'full' ? 'quick' : scale]
        : toRounds(values.rounds),
    scenarios:
      values.only.length > 0
        ? named(values.only)
        : SCENARIOS.filter(({ part }) => values.full || part === 'usual'),
    json: values.json,
  };
}

function toScale(given: string): Scale {
  const scale = SCALES.find((known) => known === given);
  if (!scale) throw new Error(`--scale must be one of ${SCALES.join(', ')}, not "${given}"`);
  return scale;
}

function toRounds(given: string): number {
  const rounds = Number(given);
  if (!Number.isInteger(rounds) || rounds < 1)
    throw new Error(`--rounds must be a positive number, not "${given}"`);
  return rounds;
}

/** Scenarios whose own name, or the name of one of their figures, starts with one of the names. */
function named(names: readonly string[]): Scenario[] {
  const found = new Set<Scenario>();
  for (const name of names) {
    const matching = SCENARIOS.filter((scenario) =>
      [scenario.name, ...figuresOf(scenario.name).map(({ id }) => id)].some((known) =>
        known.startsWith(name),
      ),
    );
    if (matching.length === 0) throw new Error(`--only: no figure or scenario starts with "${name}"`);
    for (const scenario of matching) found.add(scenario);
  }
  return SCENARIOS.filter((scenario) => found.has(scenario));
}
