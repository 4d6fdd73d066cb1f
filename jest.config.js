import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const root = import.meta.dirname;

/**
 * Suites of the complete tier that jest runs. The folder of a test determines its tier: test files in a folder with the
 * name of a suite, at the root (test/faults) or in a workspace (packages/bus/test/stores), belong to that suite. All
 * other test files are the fast tier.
 */
export const suites = ['stores', 'faults', 'browser', 'traces', 'snippets'];

/** Folders of the fast tier: every workspace with tests, and the black-box tests of the API. */
export const fastFolders = [
  ...childrenOf('packages').filter(hasTests),
  ...childrenOf('services').filter(hasTests),
  'cli',
  'standalone',
  'test/api',
];

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

const common = {
  rootDir: root,
  testEnvironment: '<rootDir>/test/jest-environment.cjs',
  testMatch: ['**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '\\.ts$': [
      '@swc/jest',
      { jsc: { parser: { syntax: 'typescript' }, target: 'es2024' }, module: { type: 'es6' }, sourceMaps: 'inline' },
    ],
  },
};

/** @type {import('jest').Config} */
export default {
  projects: [
    ...fastFolders.map((folder) => ({
      ...common,
      displayName: basename(folder),
      roots: [`<rootDir>/${folder}`],
      testPathIgnorePatterns: ['/node_modules/', `/test/(${suites.join('|')})/`],
      setupFiles: recordStatements && statementFolders.includes(folder) ? ['<rootDir>/test/statements/record.ts'] : [],
    })),
    ...suites.map((suite) => ({
      ...common,
      displayName: suite,
      roots: foldersOf(suite).map((folder) => `<rootDir>/${folder}`),
    })),
  ],
  testSequencer: join(root, 'test', 'sequencer.cjs'),
  // A rejection counts as handled if a test awaits it later, even in the last step of the test.
  waitForUnhandledRejections: true,
  // Tests wait for conditions, so on a loaded machine they are slower but do not fail.
  testTimeout: 180_000,
};

/** Returns the folders of a suite, for example test/stores and packages/bus/test/stores. */
export function foldersOf(suite) {
  const workspaces = ['.', 'cli', 'standalone', ...childrenOf('packages'), ...childrenOf('services')];
  return workspaces.map((folder) => join(folder, 'test', suite)).filter((folder) => existsSync(join(root, folder)));
}

function hasTests(folder) {
  return existsSync(join(root, folder, 'test'));
}

function childrenOf(group) {
  const entries = readdirSync(join(root, group), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${group}/${name}`);
}
