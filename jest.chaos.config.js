import base from './jest.config.js';

export default {
  ...base,
  testMatch: ['<rootDir>/test/chaos/**/*.spec.ts'],
  testPathIgnorePatterns: ['/node_modules/'],
};
