/** Faults at random, two at a time: one that happens to processes beside one of the network or of Redis. */
import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicNow } from '../history/entry.js';
import { Random } from '../random.js';
import type { ChaosWorld } from '../world/chaos-world.js';
import type { Fault } from './fault.js';
import { NETWORK_FAULTS } from './network-faults.js';
import { PROCESS_FAULTS } from './process-faults.js';
import { SERVER_FAULTS } from './server-faults.js';

/** How often each is chosen, relative to the others. Deaths come most often. */
const OF_PROCESSES: Readonly<Record<keyof typeof PROCESS_FAULTS, number>> = {
  'kill -9 of a worker': 10,
  'kill -9 of a producer': 4,
  'kill -9 of all workers at once': 2,
  'kill -9 of the process that reaps, after its reply': 1,
  'kill -9 of the process that reaps, before its reply': 1,
  'SIGSTOP past the lease, then SIGCONT': 2,
  'SIGSTOP shorter than the lease': 1,
  'SIGSTOP of a producer': 1,
  'a handler that blocks the event loop for 3 leases': 1,
  'SIGTERM of a worker': 1,
};

/** FLUSHALL is not among them: after it nothing can be said of lost jobs. */
const OF_THE_SERVER: Readonly<Partial<Record<keyof typeof SERVER_FAULTS, number>>> = {
  'kill -9 of Redis and a restart': 2,
  'a restart of Redis': 1,
  'Redis down for longer than a lease': 1,
  'Redis frozen for longer than a lease': 1,
  'CLIENT KILL': 1,
  'SCRIPT FLUSH': 1,
  'CLIENT PAUSE': 1,
  'CLIENT PAUSE of writes': 1,
  'out of memory with noeviction': 1,
  'a read-only replica': 1,
};

interface Choice {
  readonly name: string;
  readonly fault: Fault;
  readonly weight: number;
}

const PROCESS_CHOICES: readonly Choice[] = choices(PROCESS_FAULTS, OF_PROCESSES);
const OTHER_CHOICES: readonly Choice[] = [
  ...choices(SERVER_FAULTS, OF_THE_SERVER),
  ...Object.entries(NETWORK_FAULTS).map(([name, fault]) => ({ name, fault, weight: 1 })),
];

/** A round of them. Redis must keep what it acknowledged. */
export function mixFor(ms: number, seed: number): Fault {
  return async (world) => {
    const until = monotonicNow() + ms;
    await Promise.all([
      inflict(world, PROCESS_CHOICES, new Random(seed, 'processes'), until),
      inflict(world, OTHER_CHOICES, new Random(seed, 'network and server'), until),
    ]);
  };
}

async function inflict(
  world: ChaosWorld,
  from: readonly Choice[],
  random: Random,
  until: number,
): Promise<void> {
  const lots = from.flatMap((choice) => Array.from({ length: choice.weight }, () => choice));
  while (monotonicNow() < until) {
    const { name, fault } = random.pick(lots);
    world.fault(name);
    await fault(world);
    await sleep(random.between(0, 500));
  }
}

function choices<Name extends string>(
  faults: Readonly<Record<Name, Fault>>,
  weights: Readonly<Partial<Record<Name, number>>>,
): Choice[] {
  return (Object.keys(faults) as Name[]).flatMap((name) => {
    const weight = weights[name];
    return weight === undefined ? [] : [{ name, fault: faults[name], weight }];
  });
}
