/** How long the model tests run and from which seed, and how a failure is run again: all by environment variables. */
import { isDeepStrictEqual } from 'node:util';
import { expect } from '@jest/globals';
import fc from 'fast-check';

const { FC_SEED, FC_RUNS, FC_PATH, FC_REPLAY_PATH } = process.env;

/** Another one at every run. */
export const SEED = Number(FC_SEED ?? Date.now() % 2 ** 31);

/** What a failure prints as `seed`, `path` and `replayPath` goes into FC_SEED, FC_PATH and FC_REPLAY_PATH. */
export function runParameters(runs: number): { seed: number; numRuns: number; path?: string } {
  const numRuns = Number(FC_RUNS ?? runs);
  process.stderr.write(`${numRuns} sequences, FC_SEED=${SEED}\n`);
  return { seed: SEED, numRuns, ...(FC_PATH === undefined ? {} : { path: FC_PATH }) };
}

/** What can be done with the model and with the system: one store each. */
export interface World<Command> {
  /** Whether the command says anything as things stand. */
  mayRun(command: Command): boolean;
  /** Carries it out; what the store answered. */
  run(command: Command): Promise<unknown>;
  /** Everything that can be seen. */
  look(): Promise<unknown>;
}

/** A command as fast-check knows it: both must answer alike, and look alike afterwards. */
class Step<Command> implements fc.AsyncCommand<World<Command>, World<Command>> {
  constructor(private readonly command: Command) {}

  check(model: World<Command>): boolean {
    return model.mayRun(this.command);
  }

  async run(model: World<Command>, system: World<Command>): Promise<void> {
    agree(`answer to ${this.toString()}`, await system.run(this.command), await model.run(this.command));
    agree(`state after ${this.toString()}`, await system.look(), await model.look());
  }

  toString(): string {
    return JSON.stringify(this.command);
  }
}

type Steps<Command> = Iterable<fc.AsyncCommand<World<Command>, World<Command>, boolean>>;

/** Sequences of these commands, half of them longer than half of the most. */
export function sequences<Command>(
  command: fc.Arbitrary<Command>,
  maxCommands: number,
): fc.Arbitrary<Steps<Command>> {
  const step = command.map((one) => new Step(one));
  const replay = FC_REPLAY_PATH === undefined ? {} : { replayPath: FC_REPLAY_PATH };
  return fc.commands([step], { maxCommands, size: 'max', ...replay });
}

/** Jest's own comparison takes longer than both stores. */
export function agree(at: string, system: unknown, model: unknown): void {
  if (!isDeepStrictEqual(system, model)) expect({ at, system }).toEqual({ at, system: model });
}
