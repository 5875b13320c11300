/** Faults between processes and Redis, each alone. */
import { describe, it } from '@jest/globals';
import { NETWORK_FAULTS } from '../faults/network-faults.js';
import { runChaos, SEED } from './run-chaos.js';

describe(`network, CHAOS_SEED=${SEED}`, () => {
  it.each(Object.entries(NETWORK_FAULTS))('%s', async (name, disturb) => {
    await runChaos(name, { disturb });
  });
});
