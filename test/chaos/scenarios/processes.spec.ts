/** Processes that die, stand still, or have a wrong clock. */
import { describe, it } from '@jest/globals';
import { PROCESS_FAULTS } from '../faults/process-faults.js';
import { LEASE_MS } from '../world/chaos-world.js';
import { repeated, runChaos, SEED, type Scenario } from './run-chaos.js';

const HOUR_MS = 3_600_000;

const SCENARIOS: Readonly<Record<string, Scenario>> = {
  'kill -9 of a worker, 4 times': {
    disturb: repeated(4, PROCESS_FAULTS['kill -9 of a worker']),
    feltAs: ['kills', 'leasesLost'],
  },
  'kill -9 of a producer, 4 times': {
    disturb: repeated(4, PROCESS_FAULTS['kill -9 of a producer']),
    feltAs: ['kills'],
  },
  'kill -9 of all workers at once, 2 times': {
    disturb: repeated(2, PROCESS_FAULTS['kill -9 of all workers at once']),
    feltAs: ['kills', 'leasesLost'],
  },
  'kill -9 of the process that reaps, after its reply': {
    disturb: PROCESS_FAULTS['kill -9 of the process that reaps, after its reply'],
    feltAs: ['kills', 'leasesLost'],
  },
  'kill -9 of the process that reaps, before its reply, 2 times': {
    disturb: repeated(2, PROCESS_FAULTS['kill -9 of the process that reaps, before its reply']),
    feltAs: ['kills', 'leasesLost'],
  },
  'SIGSTOP past the lease, then SIGCONT, 3 times': {
    disturb: repeated(3, PROCESS_FAULTS['SIGSTOP past the lease, then SIGCONT']),
    feltAs: ['faults', 'leasesLost'],
  },
  'SIGSTOP shorter than the lease, and of a producer, 2 times': {
    disturb: repeated(2, async (world) => {
      await PROCESS_FAULTS['SIGSTOP shorter than the lease'](world);
      await PROCESS_FAULTS['SIGSTOP of a producer'](world);
    }),
    feltAs: ['faults'],
  },
  'SIGTERM of a worker, 4 times': {
    disturb: repeated(4, PROCESS_FAULTS['SIGTERM of a worker']),
    feltAs: ['exits'],
  },
  'SIGTERM of a worker that cannot reach Redis': {
    disturb: (world) =>
      world.withSlot('worker', async (slot) => {
        slot.proxy.refuse();
        await slot.terminate();
        slot.proxy.heal();
        await slot.spawn();
      }),
    feltAs: ['exits', 'leasesLost'],
  },
  'handlers that block the event loop for 3 leases': {
    disturb: async (world) => {
      await world.enqueue(2, { does: 'block', ms: 3 * LEASE_MS });
      await world.untilDone(500);
    },
    feltAs: ['leasesLost'],
  },
  'clocks of workers an hour ahead and behind, and a kill': {
    clockShiftsMs: [HOUR_MS, -HOUR_MS, 0],
    disturb: async (world) => {
      await PROCESS_FAULTS['kill -9 of a worker'](world);
      await world.untilDone(300);
    },
    feltAs: ['kills'],
  },
};

describe(`processes, CHAOS_SEED=${SEED}`, () => {
  it.each(Object.keys(SCENARIOS))('%s', async (name) => {
    const scenario = SCENARIOS[name];
    if (scenario) await runChaos(name, scenario);
  });
});
