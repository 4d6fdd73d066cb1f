import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const root = import.meta.dirname;

/** Projects that only `npm run test:all` runs: they kill processes, fill disks, or walk every page of the dashboard. */
export const fullTier = ['faults', 'browser', 'traces', 'observability'];

/** Folders of the projects: every workspace with a test folder, and every folder of test/ that contains tests. */
const folders = [
  ...childrenOf('packages').filter(hasTests),
  ...childrenOf('services').filter(hasTests),
  'cli',
  'standalone',
  ...childrenOf('test').filter((folder) => readdirSync(join(root, folder)).some((file) => file.endsWith('.test.ts'))),
  // test/cluster needs a cluster and has a separate configuration.
].filter((folder) => folder !== 'test/cluster');

/**
 * Projects whose tests run the services in the test process, where their SQL statements can be recorded. Together they
 * send every statement.
 */
const statementFolders = [...childrenOf('services').filter(hasTests), 'packages/audit', 'packages/outbox'];

/** Names of the projects in which SQL statements are recorded. */
export const statementProjects = statementFolders.map((folder) => basename(folder));

/**
 * Whether tests record their SQL statements in the folder STATEMENTS_DIR. scripts/test-all.mjs and
 * scripts/test-statements.mjs set this variable.
 */
const recordStatements = Boolean(process.env.STATEMENTS_DIR);

/** @type {import('jest').Config} */
export default {
  projects: folders.map((folder) => ({
    displayName: basename(folder),
    rootDir: root,
    roots: [`<rootDir>/${folder}`],
    testEnvironment: '<rootDir>/test/jest-environment.cjs',
    testMatch: ['**/*.test.ts'],
    setupFiles: recordStatements && statementFolders.includes(folder) ? ['<rootDir>/test/statements/record.ts'] : [],
    extensionsToTreatAsEsm: ['.ts'],
    transform: {
      '\\.ts$': [
        '@swc/jest',
        { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' }, sourceMaps: 'inline' },
      ],
    },
  })),
  testSequencer: join(root, 'test', 'sequencer.cjs'),
  // A rejection counts as handled if a test awaits it later, even in the last step of the test.
  waitForUnhandledRejections: true,
  // Tests wait for conditions, so on a loaded machine they are slower but do not fail.
  testTimeout: 180_000,
};

function hasTests(folder) {
  return existsSync(join(root, folder, 'test'));
}

function childrenOf(group) {
  const entries = readdirSync(join(root, group), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${group}/${name}`);
}
