// Brings the checkout into a state that can run: dependencies installed, sources built. Plain Node, no dependencies.
// Says what it does on stderr, so that the stdout of a command stays its own.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** The root of the checkout. */
export const root = fileURLToPath(new URL('../../', import.meta.url));

const oldestNode = [20, 19];
const compiler = join(root, 'node_modules', 'typescript', 'bin', 'tsc');
const bundler = join(root, 'node_modules', 'vite', 'bin', 'vite.js');
const pages = join('services', 'dashboard', 'web');
const buildStamp = join(root, 'node_modules', '.cache', 'rms-build');

/** Something that a person can mend; shown as one line, without a stack. */
export class PrepareError extends Error {}

/**
 * Installs what is missing and builds what is out of date; a few milliseconds when there is nothing to do.
 * `development`: the tools of tests and checks are needed as well.
 */
export function prepare({ development = false } = {}) {
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
  if (major < oldestNode[0] || (major === oldestNode[0] && minor < oldestNode[1])) {
    throw new PrepareError(`Node ${oldestNode.join('.')} or later is needed; this is ${process.versions.node}`);
  }
  ensureInstalled({ development });
  ensureBuilt();
}

/** Runs `npm ci` unless every package of the lock file is there in its version. */
export function ensureInstalled({ development = false } = {}) {
  if (isInstalled(development)) return;
  process.stderr.write('rms: installing dependencies (npm ci)\n');
  run('npm', ['ci', '--no-audit', '--no-fund'], 'npm ci failed; is the package registry within reach?');
}

/** Runs `tsc -b`, and Vite for the pages of the dashboard, unless no source has changed since the last time. */
export function ensureBuilt() {
  const state = sourceState();
  const outputs = builtWorkspaces().map((workspace) => join(root, workspace, 'dist', '.tsbuildinfo'));
  const built = [...outputs, join(root, pages, '..', 'dist', 'web', 'index.html')].every((output) =>
    existsSync(output),
  );
  if (built && existsSync(buildStamp) && readFileSync(buildStamp, 'utf8') === state) return;
  if (!built) process.stderr.write('rms: building (tsc -b, vite build)\n');
  run(process.execPath, [compiler, '-b'], 'the build failed, see above');
  run(
    process.execPath,
    [bundler, 'build', '-c', join(pages, 'vite.config.mjs')],
    'the pages could not be built, see above',
  );
  mkdirSync(dirname(buildStamp), { recursive: true });
  writeFileSync(buildStamp, state);
}

function isInstalled(development) {
  const installedFile = join(root, 'node_modules', '.package-lock.json');
  if (!existsSync(installedFile) || !existsSync(compiler)) return false;
  const wanted = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')).packages;
  const installed = JSON.parse(readFileSync(installedFile, 'utf8')).packages;
  return Object.entries(wanted).every(([path, { version, link, dev, optional, devOptional }]) => {
    // Optional packages are of other platforms; development ones may have been left out on purpose.
    if (!path.startsWith('node_modules/') || optional || devOptional || (dev && !development)) return true;
    return link ? existsSync(join(root, path)) : installed[path]?.version === version;
  });
}

/** Every source's path, size and time in one text: the same text, nothing to build. */
function sourceState() {
  const lines = [];
  for (const workspace of workspaces()) {
    const entries = readdirSync(join(root, workspace), { withFileTypes: true });
    for (const { name } of entries) {
      if (name === 'tsconfig.json' || name === 'package.json') lines.push(describe(join(workspace, name)));
    }
    for (const folder of ['src', 'gen', 'web']) {
      if (!entries.some(({ name }) => name === folder)) continue;
      for (const file of readdirSync(join(root, workspace, folder), { recursive: true }).sort()) {
        lines.push(describe(join(workspace, folder, String(file))));
      }
    }
  }
  for (const name of ['tsconfig.json', 'tsconfig.base.json']) lines.push(describe(name));
  return lines.join('\n');
}

function workspaces() {
  const grouped = ['packages', 'services'].flatMap((group) =>
    readdirSync(join(root, group), { withFileTypes: true })
      .filter((entry) => entry.isDirectory())
      .map(({ name }) => `${group}/${name}`),
  );
  return [...grouped, 'cli', 'standalone'];
}

/** The workspaces that are built; packages/proto holds what buf generates. */
function builtWorkspaces() {
  return workspaces().filter((workspace) => existsSync(join(root, workspace, 'tsconfig.json')));
}

function describe(path) {
  const { size, mtimeMs } = statSync(join(root, path), { throwIfNoEntry: false }) ?? { size: -1, mtimeMs: 0 };
  return `${path} ${size} ${mtimeMs}`;
}

function run(command, args, failure) {
  // What they print goes to stderr.
  const { status, error } = spawnSync(command, args, { cwd: root, stdio: ['ignore', process.stderr, process.stderr] });
  if (error) throw new PrepareError(`${command} cannot be run: ${error.message}`);
  if (status !== 0) throw new PrepareError(failure);
}
