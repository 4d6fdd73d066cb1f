// Which test files exist, and to which tier and project they belong. Plain Node, no dependencies.
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';

const root = join(import.meta.dirname, '..');

/**
 * Suites of the complete tier that jest runs. The folder of a test determines its tier: test files in a folder with
 * the name of a suite, at the root (test/faults) or in a workspace (packages/bus/test/stores), belong to that suite. All
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
 * Folders whose tests run the services in the test process, where their SQL statements can be recorded. Together they
 * send every statement.
 */
export const statementFolders = [...childrenOf('services').filter(hasTests), 'packages/postgres'];

/** Names of the projects in which SQL statements are recorded. */
export const statementProjects = statementFolders.map((folder) => basename(folder));

/** Folders by project: one project per folder of the fast tier, with the name of the folder, and one per suite. */
export const projects = new Map(
  /** @type {[string, string[]][]} */ ([
    ...fastFolders.map((folder) => [basename(folder), [folder]]),
    ...suites.map((suite) => [suite, foldersOf(suite)]),
  ]),
);

/** Returns the folders of a suite, for example test/stores and packages/bus/test/stores. */
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
