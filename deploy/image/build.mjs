// Copies the sources, packages and commands that the image runs into a folder: node build.mjs SOURCES FOLDER NODE.
// NODE is the path of Node in the image. Requires Node and an `npm ci` in SOURCES.
import { spawnSync } from 'node:child_process';
import {
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';
import { programs } from './programs.mjs';

/** The Containerfile's USER. */
const imageUser = '65532';

const [sources, folder, node] = process.argv.slice(2);
const readJson = (...path) => JSON.parse(readFileSync(join(...path), 'utf8'));
const lock = readJson(sources, 'package-lock.json');
/** Packages that a service reads as a file and never imports, so that their dependencies are not needed. */
const read = new Set(['node_modules/@scalar/fastify-api-reference']);
const roots = [...new Set(Object.values(programs).map((file) => dirname(dirname(file))))];

// The dashboard's pages, into its dist folder.
run(join(sources, 'node_modules', 'vite', 'bin', 'vite.js'), 'build', '-c', 'services/dashboard/web/vite.config.mjs');

/** Paths of all packages needed at runtime, relative to the sources: workspaces and packages of node_modules. */
const shipped = new Set();
for (const root of roots) ship(root);
for (const path of [...shipped].sort()) copy(path);
// The gateway's API reference contains the guides.
cpSync(join(sources, 'docs'), join(folder, 'docs'), { recursive: true, filter: isGuide });
writeManifests();
writeCommands();
run(join(sources, 'deploy', 'image', 'fill-compile-cache.mjs'), folder);
run(join(sources, 'deploy', 'image', 'share-compile-cache.mjs'), join(folder, 'cache'), imageUser);

function run(...command) {
  const { status } = spawnSync(process.execPath, command, { cwd: sources, stdio: 'inherit' });
  if (status !== 0) process.exit(1);
}

/** Adds a package and its dependencies to `shipped`, except type packages. */
function ship(path) {
  if (shipped.has(path) || path.includes('node_modules/@types/')) return;
  shipped.add(path);
  if (read.has(path)) return;
  const { dependencies = {}, optionalDependencies = {} } = readJson(sources, path, 'package.json');
  for (const name of Object.keys({ ...optionalDependencies, ...dependencies })) {
    const found = find(path, name);
    if (found !== undefined) ship(found);
    else if (!(name in optionalDependencies)) throw new Error(`${path} requires ${name}, which is not installed`);
  }
}

/**
 * Resolves a package as Node does, from the nearest node_modules upward. A link resolves to the workspace behind it.
 */
function find(from, name) {
  for (let path = from; ; path = dirname(path)) {
    const candidate = join(path, 'node_modules', name);
    if (existsSync(join(sources, candidate)))
      return relative(realpathSync(sources), realpathSync(join(sources, candidate)));
    if (path === '.') return undefined;
  }
}

function copy(path) {
  const from = join(sources, path);
  const own = !path.includes('node_modules/');
  const filter = own ? isRunByUs : (file) => isRun(file, from);
  if (!own) {
    cpSync(from, join(folder, path), { recursive: true, filter });
    return;
  }
  for (const part of ['package.json', 'src', 'dist', 'gen', 'migrations']) {
    if (existsSync(join(from, part))) cpSync(join(from, part), join(folder, path, part), { recursive: true, filter });
  }
  const { name } = readJson(from, 'package.json');
  const link = join(folder, 'node_modules', name);
  mkdirSync(dirname(link), { recursive: true });
  symlinkSync(relative(dirname(link), join(folder, path)), link);
}

/** Documents directly in docs/. */
function isGuide(file) {
  return file === join(sources, 'docs') || (dirname(file) === join(sources, 'docs') && file.endsWith('.md'));
}

/** Own files: sources, bundled pages, migrations. */
function isRunByUs(file) {
  return !/\.d\.ts$/.test(file);
}

/**
 * Selects files of third-party packages: no types, no source maps, no prose except licenses, and no nested packages
 * (`ship` lists those separately).
 */
function isRun(file, from) {
  const name = basename(file);
  if (name === 'node_modules' && file !== from) return false;
  return !/\.([cm]?ts|map|flow|markdown|md)$/i.test(name) || /^(licen[cs]e|notice|copying)/i.test(name);
}

/** Writes manifests of the shipped packages only, so that image scanners do not report build dependencies. */
function writeManifests() {
  const { name, version, license, type } = readJson(sources, 'package.json');
  const manifest = { name, version, private: true, license, type };
  writeJson('package.json', manifest);
  const inLock = ([path, { link, resolved }]) => shipped.has(link ? resolved : path);
  const packages = Object.fromEntries(Object.entries(lock.packages).filter(inLock));
  writeJson('package-lock.json', { ...lock, packages: { '': manifest, ...packages } });
  cpSync(join(sources, 'LICENSE'), join(folder, 'LICENSE'));
}

function writeJson(name, value) {
  writeFileSync(join(folder, name), `${JSON.stringify(value, null, 2)}\n`);
}

function writeCommands() {
  const bin = join(folder, 'bin');
  mkdirSync(bin);
  cpSync(join(sources, 'deploy', 'image', 'programs.mjs'), join(bin, 'programs.mjs'));
  const launcher = readFileSync(join(sources, 'deploy', 'image', 'launch.mjs'), 'utf8');
  writeFileSync(join(bin, 'launch.mjs'), launcher.replace(/^#!.*/, `#!${node}`));
  chmodSync(join(bin, 'launch.mjs'), 0o755);
  for (const program of Object.keys(programs)) symlinkSync('launch.mjs', join(bin, program));
}
