const LIBRARY = 'libs/job-queue/src';

/** A file imports from its own layer or from one further down, never from one above. */
const LAYERS = [
  ['nest'],
  ['worker', 'maintenance', 'health', 'observability'],
  ['queue', 'lock', 'idempotency'],
  ['store'],
  ['events', 'job', 'options', 'errors'],
];

const SPEC = '\\.spec\\.ts$';
const inFolders = (folders) => `^${LIBRARY}/(?:${folders.join('|')})/`;

const layerRules = LAYERS.slice(1).map((layer, index) => ({
  name: `layers: never upwards from ${layer.join(', ')}`,
  severity: 'error',
  from: { path: inFolders(layer), pathNot: SPEC },
  to: { path: inFolders(LAYERS.slice(0, index + 1).flat()) },
}));

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: 'no circles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...layerRules,
    {
      name: 'every library folder belongs to a layer',
      comment: 'A new folder must be added to LAYERS in .dependency-cruiser.cjs.',
      severity: 'error',
      from: {
        path: `^${LIBRARY}/[^/]+/`,
        pathNot: [inFolders([...LAYERS.flat(), 'testing'])],
      },
      to: {},
    },
    {
      name: 'layers do not use the entry points',
      comment: 'index.ts and testing/ may import anything, so nothing may import them.',
      severity: 'error',
      from: { path: inFolders(LAYERS.flat()), pathNot: SPEC },
      to: {
        path: [`^${LIBRARY}/index\\.ts$`, `^${LIBRARY}/testing/`, '^@fenceline/', '^libs/job-queue/dist/'],
      },
    },
    {
      name: 'stores are strangers: redis',
      severity: 'error',
      from: { path: `^${LIBRARY}/store/redis/`, pathNot: SPEC },
      to: { path: `^${LIBRARY}/store/memory/` },
    },
    {
      name: 'stores are strangers: memory',
      severity: 'error',
      from: { path: `^${LIBRARY}/store/memory/`, pathNot: SPEC },
      to: { path: `^${LIBRARY}/store/redis/` },
    },
    {
      name: 'the library stands alone',
      severity: 'error',
      from: { path: `^${LIBRARY}/`, pathNot: SPEC },
      to: { path: ['^src/', '^test/', '^bench/', '^dist/', '^scripts/'] },
    },
    {
      name: 'the app uses the library as its users do',
      comment: "Import from '@fenceline/nestjs'; what it does not export is internal.",
      severity: 'error',
      from: { path: '^src/' },
      // '#lib/' is what remains of an import that does not resolve, because nothing is built yet.
      to: { path: [`^${LIBRARY}/`, '^#lib/', '(?:^|/)libs/job-queue/dist/(?!(?:testing/)?index\\.)'] },
    },
  ],
  options: {
    tsConfig: { fileName: 'tsconfig.base.json' },
    // A circle of types is a circle too.
    tsPreCompilationDeps: true,
    doNotFollow: { path: ['(?:^|/)node_modules/', '(?:^|/)dist/'] },
    enhancedResolveOptions: {
      conditionNames: ['import', 'types', 'node', 'default'],
      exportsFields: ['exports'],
    },
  },
};
