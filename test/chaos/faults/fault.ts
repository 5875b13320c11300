/** Something that goes wrong, and is over again when its promise resolves. */
import type { ChaosWorld } from '../world/chaos-world.js';

export type Fault = (world: ChaosWorld) => Promise<void>;
export type Faults = Readonly<Record<string, Fault>>;
