/** Run through `npm run test:chaos`: real processes that are killed, stopped and cut off. */
import base from '../../jest.config.js';

const { testPathIgnorePatterns: _onlyWithoutChaos, ...shared } = base;

export default {
  ...shared,
  rootDir: '../..',
  testMatch: ['<rootDir>/test/chaos/**/*.spec.ts'],
  // A scenario takes seconds, and gives up by itself; a long run takes minutes.
  testTimeout: process.env.CHAOS_LONG ? 3_600_000 : 120_000,
  // The promise has a time in it. More would compete for the processor instead of showing more.
  maxWorkers: 2,
};
