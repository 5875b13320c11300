/** Every scenario, in the order in which they run. */
import { growthScenarios } from './growth.js';
import { heap } from './heap.js';
import { backlog } from './held-backlog.js';
import { idle } from './idle.js';
import { manyWorkers } from './many-workers.js';
import { memoryStore } from './memory-store.js';
import { pickUp } from './pick-up.js';
import { throughputScenarios } from './throughput.js';
import { delayed, retries } from './timing.js';
import type { Scenario } from '../scenario.js';

export const SCENARIOS: readonly Scenario[] = [
  ...throughputScenarios,
  pickUp,
  idle,
  delayed,
  retries,
  memoryStore,
  backlog,
  heap,
  manyWorkers,
  ...growthScenarios,
];

/** @throws Error when there is none of that name. */
export function scenarioOf(name: string): Scenario {
  const scenario = SCENARIOS.find((candidate) => candidate.name === name);
  if (!scenario) throw new Error(`There is no scenario "${name}"`);
  return scenario;
}
