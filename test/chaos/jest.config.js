/** Run through `npm run test:chaos`: real processes that are killed, stopped and cut off. */
import base from '../../jest.config.js';

const { testPathIgnorePatterns: _onlyWithoutChaos, ...shared } = base;

export default {
  ...shared,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/chaos/**/*.spec.ts'],
  // A scenario takes seconds, a round of a long run a minute or two. Each gives up by itself; this is the last resort.
  testTimeout: 300_000,
  // Most of a scenario is waiting. More would compete for the processor, and the promise has a time in it.
  maxWorkers: 3,
};
