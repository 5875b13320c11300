/** Run through `npm test`: scripts/test.mjs builds, brings a Redis and turns on ES modules in Jest. */
export default {
  testMatch: [
    '<rootDir>/libs/*/src/**/*.spec.ts',
    '<rootDir>/src/**/*.spec.ts',
    '<rootDir>/test/**/*.spec.ts',
  ],
  modulePathIgnorePatterns: ['<rootDir>/dist/', '<rootDir>/libs/[^/]+/dist/'],
  // The scenarios take minutes: `npm run test:chaos`.
  testPathIgnorePatterns: ['/node_modules/', '<rootDir>/test/chaos/scenarios/', '\\.chaos\\.spec\\.ts$'],
  testEnvironment: 'node',
  // Jest would leave one core idle; most of these tests wait for a process or for time to pass.
  maxWorkers: '100%',
  // Tests wait for what they observe and give up by themselves; this is for a machine that is busy with others.
  testTimeout: 30_000,
  reporters: ['default', '<rootDir>/scripts/closing-line-reporter.mjs'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': [
      '@swc/jest',
      {
        swcrc: false,
        sourceMaps: 'inline',
        module: { type: 'es6' },
        jsc: {
          target: 'es2023',
          parser: { syntax: 'typescript', decorators: true },
          // The same meaning as in tsconfig.base.json.
          transform: { legacyDecorator: true, decoratorMetadata: true, verbatimModuleSyntax: true },
        },
      },
    ],
  },
  moduleNameMapper: {
    // Tests run against the sources: coverage and stack traces point at them, and there is one copy of each class.
    '^@fenceline/nestjs$': '<rootDir>/libs/job-queue/src/index.ts',
    '^@fenceline/nestjs/testing$': '<rootDir>/libs/job-queue/src/testing/index.ts',
    // Test code reaches library internals as '#lib/store/redis/keys.js'. package.json "imports" sends that to the
    // built library, so the same file also runs as a plain process; here it means the sources.
    '^#lib/(.*)\\.js$': '<rootDir>/libs/job-queue/src/$1.ts',
    // In TypeScript './x.js' names './x.ts'. The .js comes first for the sake of packages in node_modules.
    '^(\\.{1,2}/.*)\\.js$': ['$1.js', '$1.ts'],
  },
  collectCoverageFrom: ['libs/*/src/**/*.ts', 'src/**/*.ts', '!**/*.spec.ts'],
  coverageDirectory: 'coverage',
};
