import { join } from 'node:path';
import { projects, statementFolders, suites } from './test/projects.mjs';

/** Files of the fast tier that run in a process of their own, each with the reason. */
const isolated = [
  // Compares kafkajs before and after the first client of the process.
  'packages/bus/test/kafka-idle.test.ts',
  // Opens streams of stdout, which live as long as their process.
  'packages/runtime/test/logging/stdout.test.ts',
];

/** Projects of this run (scripts/lib/test-run.mjs); all of them if jest is started directly. */
const chosen = process.env.TEST_PROJECTS?.split(' ') ?? [...projects.keys()];
const otherSuites = suites.filter((suite) => !chosen.includes(suite));

/** Patterns of paths relative to the root. */
const suiteFiles = (names) => `(^|/)test/(${names.join('|')})/`;
const recordedFiles = `^(${statementFolders.join('|')})/(?!.*${suiteFiles(suites)})`;

export default {
  roots: [...new Set(chosen.flatMap((name) => projects.get(name)))].map((folder) => join('<rootDir>', folder)),
  testMatch: ['**/*.test.ts'],
  testPathIgnorePatterns: [
    '/node_modules/',
    '/dist/',
    ...(otherSuites.length > 0 ? [`<rootDir>/(.*/)?test/(${otherSuites.join('|')})/`] : []),
  ],
  moduleFileExtensions: ['ts', 'js'],
  // Node loads the modules and strips the types, as in production.
  transform: {},
  watchman: false,
  cacheDirectory: '<rootDir>/node_modules/.cache/jest',
  runner: [
    '<rootDir>/test/runner/runner.mjs',
    {
      isolated: process.env.TEST_ISOLATE ? ['.'] : [...isolated, suiteFiles(suites)],
      // scripts/test-all.mjs and scripts/test-statements.mjs set STATEMENTS_DIR.
      setup: process.env.STATEMENTS_DIR ? [{ files: recordedFiles, module: 'test/statements/record.ts' }] : [],
    },
  ],
  testSequencer: '<rootDir>/test/runner/sequencer.mjs',
  // The last lines of the run repeat the failures (scripts/lib/test-result.mjs).
  reporters: [['default', { summaryThreshold: Number.MAX_SAFE_INTEGER }], '<rootDir>/test/runner/reporter.mjs'],
  // Tests wait for conditions, so on a loaded machine they are slower but do not fail.
  testTimeout: 180_000,
  showSeed: Boolean(process.env.TEST_SHUFFLE),
};
