// Prepares the checkout: installs dependencies and bundles the dashboard's pages. Plain Node, no dependencies.
// Messages go to stderr, so that stdout contains only the command's output.
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { exclusively } from './exclusively.mjs';

/** The checkout's root. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

/** Compile cache of all sources, with types stripped. A start with it uses less CPU than a start from a build. */
export const compileCache = join(root, 'node_modules', '.cache', 'node');

/** Vite, and its configuration for the dashboard's pages. */
export const bundler = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
const web = join('services', 'dashboard', 'web');
export const pagesConfig = join(root, web, 'vite.config.mjs');
const page = join(root, web, '..', 'dist', 'web', 'index.html');
const pagesStamp = join(root, 'node_modules', '.cache', 'rms-pages');

/** A failure that the user can fix; printed as one line, without a stack. */
export class PrepareError extends Error {}

/** Awaits `work`. If it fails with a PrepareError, prints the message and ends the process with status 1. */
export async function orExit(work) {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof PrepareError)) throw error;
    process.stderr.write(`rms: ${error.message}\n`);
    process.exit(1);
  }
}

/**
 * Installs missing dependencies and bundles changed pages; takes milliseconds when nothing has changed.
 * `development` includes the tools of tests and checks.
 */
export function prepare({ development = false } = {}) {
  ensureInstalled({ development });
  ensurePages();
}

/** Modules that import almost all others of a test run. */
const loadedByTests = ['standalone/src/standalone.ts', 'cli/src/run.ts', 'packages/testkit/src/index.ts'];

/**
 * Compiles the modules of tests into the compile cache if there is none. Otherwise each of the processes that start
 * together at the start of a run would compile them, because Node writes the cache when a process ends.
 */
export async function fillCompileCache() {
  if (existsSync(compileCache)) return;
  const code = loadedByTests.map((file) => `await import(${JSON.stringify(pathToFileURL(join(root, file)).href)});`);
  const child = spawn(process.execPath, ['--input-type=module', '--eval', code.join('\n')], {
    env: { ...process.env, NODE_COMPILE_CACHE: compileCache },
    stdio: 'ignore',
  });
  await once(child, 'exit');
}

/** Runs `npm ci` unless every package of the lock file is installed in its version. Waits for another process that does. */
export function ensureInstalled({ development = false } = {}) {
  exclusively(
    () => isInstalled(root, development),
    () => install(root),
  );
}

/** Installs the tools of a folder with its own lock file, without running their scripts. */
export function ensureTools(folder) {
  exclusively(
    () => isInstalled(folder, true),
    () => install(folder, '--ignore-scripts'),
  );
}

function install(folder, ...options) {
  process.stderr.write('rms: installing dependencies (npm ci)\n');
  const args = ['ci', '--no-audit', '--no-fund', ...options];
  run('npm', args, 'npm ci failed; is the package registry reachable?', folder);
}

/** Bundles the dashboard's pages (vite build) unless no source has changed since the last time. */
export function ensurePages() {
  const state = pageSources();
  exclusively(
    () => existsSync(page) && existsSync(pagesStamp) && readFileSync(pagesStamp, 'utf8') === state,
    () => {
      process.stderr.write('rms: bundling the dashboard (vite build)\n');
      run(process.execPath, [bundler, 'build', '-c', pagesConfig], 'the dashboard was not bundled, see above');
      mkdirSync(dirname(pagesStamp), { recursive: true });
      writeFileSync(pagesStamp, state);
    },
  );
}

function isInstalled(folder, development) {
  const installedFile = join(folder, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile)) return false;
  const wanted = JSON.parse(readFileSync(join(folder, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(readFileSync(installedFile, 'utf8')).packages;
  return Object.entries(wanted).every(([path, { version, link, dev, optional, devOptional }]) => {
    // Optional packages belong to other platforms; development ones may have been omitted.
    if (!path.startsWith('node_modules/') || optional || devOptional || (dev && !development)) return true;
    return link ? existsSync(join(folder, path)) : installed[path]?.version === version;
  });
}

/** Returns path, size and modification time of every file that the bundle depends on, as one string. */
function pageSources() {
  const folders = [web, join('packages', 'base')];
  const lines = ['package-lock.json', ...folders.flatMap(sourceFiles)].map((path) => {
    const { size, mtimeMs } = statSync(join(root, path));
    return `${path} ${size} ${mtimeMs}`;
  });
  return lines.join('\n');
}

function sourceFiles(folder) {
  return readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !entry.parentPath.includes('node_modules'))
    .map(({ parentPath, name }) => join(parentPath, name).slice(root.length))
    .sort();
}

function run(command, args, failure, cwd = root) {
  // Output of these tools goes to stderr.
  const { status, error } = spawnSync(command, args, { cwd, stdio: ['ignore', process.stderr, process.stderr] });
  if (error) throw new PrepareError(`${command} cannot be run: ${error.message}`);
  if (status !== 0) throw new PrepareError(failure);
}
