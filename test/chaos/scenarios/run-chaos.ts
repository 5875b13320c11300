/** Runs one scenario: load, the disturbance, healing, and the checker's verdict. */
import { expect } from '@jest/globals';
import { violationsIn } from '../checker/check-all.js';
import type { Evidence } from '../checker/evidence.js';
import type { Fault } from '../faults/fault.js';
import { ChaosWorld, type ChaosSettings } from '../world/chaos-world.js';
import { figuresOf, report, type Figures } from './figures.js';

export interface Scenario extends Omit<ChaosSettings, 'seed'> {
  /** While jobs are flowing. What it leaves disturbed is healed afterwards. */
  readonly disturb: Fault;
  /** Instead of starting all processes at once. */
  readonly boot?: Fault;
  /** Before the processes are asked to end. */
  readonly inspect?: Fault;
  /** What this scenario shall have brought about, or it has shown nothing. */
  readonly feltAs?: readonly (keyof Figures)[];
  readonly expects?: (evidence: Evidence) => void;
}

/** `CHAOS_SEED` repeats the random choices of a run; in which instant they meet the jobs, the machine decides. */
export const SEED = Number(process.env.CHAOS_SEED ?? 1);

const WARM_UP_JOBS = 100;

export async function runChaos(name: string, scenario: Scenario, seed = SEED): Promise<Figures> {
  const world = await ChaosWorld.open({ ...scenario, seed });
  let isProven = false;
  try {
    await (scenario.boot ?? ((opened) => opened.startAll()))(world);
    await world.untilDone(WARM_UP_JOBS);
    await scenario.disturb(world);
    await world.healAndDrain();
    await scenario.inspect?.(world);
    await world.shutDown();
    const evidence = await world.evidence();
    const figures = figuresOf(evidence);
    report(name, seed, figures);
    expect(violationsIn(evidence)).toEqual([]);
    for (const figure of scenario.feltAs ?? [])
      expect({ [figure]: figures[figure] }).not.toEqual({ [figure]: 0 });
    scenario.expects?.(evidence);
    isProven = true;
    return figures;
  } finally {
    if (!isProven)
      process.stderr.write(`"${name}" failed: CHAOS_SEED=${seed}, histories in ${world.histories}\n`);
    await world.close({ keepHistories: !isProven });
  }
}

/** One fault after the other. */
export function repeated(times: number, fault: Fault): Fault {
  return async (world) => {
    for (let i = 0; i < times; i++) await fault(world);
  };
}
