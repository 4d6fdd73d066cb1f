// The existing test files, and the tier and project that they belong to. Plain Node, no dependencies.
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const root = join(import.meta.dirname, '..');

/**
 * Suites of the complete tier that jest runs. A test's folder determines its tier: test files in a folder with
 * a suite's name, at the root (test/faults) or in a workspace (packages/bus/test/stores), belong to that suite. All
 * other test files are the fast tier.
 */
export const suites = ['stores', 'faults', 'browser', 'traces', 'snippets'];

/** Folders of the fast tier: every workspace with tests, the black-box tests of the API, and the test runner. */
export const fastFolders = [
  ...childrenOf('packages').filter(hasTests),
  ...childrenOf('clients').filter(hasTests),
  ...childrenOf('services').filter(hasTests),
  'cli',
  'standalone',
  'test/api',
  'test/runner',
];

/**
 * Folders with tests that run the services in the test process, where their SQL statements can be recorded. Together
 * they send every statement.
 */
export const statementFolders = [...childrenOf('services').filter(hasTests), 'packages/postgres'];

/** Names of the projects that record SQL statements. */
export const statementProjects = statementFolders.map((folder) => basename(folder));

/**
 * Folders by project: one project per suite, and one per folder name of the fast tier (`api`: packages/api and
 * test/api).
 */
export const projects = new Map(
  /** @type {[string, string[]][]} */ ([
    ...Map.groupBy(fastFolders, (folder) => basename(folder)),
    ...suites.map((suite) => [suite, foldersOf(suite)]),
  ]),
);

/** Returns a suite's folders, for example test/stores and packages/bus/test/stores. */
export function foldersOf(suite) {
  const groups = ['packages', 'clients', 'services'];
  const workspaces = ['.', 'cli', 'standalone', ...groups.flatMap(childrenOf)];
  return workspaces.map((folder) => join(folder, 'test', suite)).filter((folder) => existsSync(join(root, folder)));
}

function hasTests(folder) {
  return existsSync(join(root, folder, 'test'));
}

function childrenOf(group) {
  const entries = readdirSync(join(root, group), { withFileTypes: true });
  return entries.filter((entry) => entry.isDirectory()).map(({ name }) => `${group}/${name}`);
}
