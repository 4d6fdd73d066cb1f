// npm run check: checks the sources without starting services. All checks run, even if one fails.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { availableParallelism, tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fastFolders, foldersOf, suites } from '../test/projects.mjs';
import { baseCommit, git } from './lib/base-commit.mjs';
import { brokenComments, brokenReferences } from './lib/documents.mjs';
import { ensureInstalled, orExit, root } from './lib/prepare.mjs';
import { tierViolations } from './lib/test-tiers.mjs';

const sources = ['packages', 'services', 'cli', 'standalone', 'clients'];

/** Checks by name. Each check returns a problem description, or undefined. */
const checks = {
  'format and lint': () => run('biome', ['ci', '--colors=off', '--log-level=error', '.']),
  'types of the sources and tests': () => types(),
  'types of the pages': () => types('services/dashboard/web'),
  'types of the TypeScript client': () => types('clients/typescript'),
  'types of the scripts and benchmarks': () => types('tsconfig.scripts.json'),
  'protos: lint': () => run('buf', ['lint']),
  'protos: compatible': protosCompatible,
  'protos: generated code': generatedCode,
  'clients: generated code': generatedParts,
  'imports between workspaces': () => run('depcruise', ['--output-type', 'err', ...sources]),
  'every package has two users': packageUsers,
  'no side effects at import': sideEffects,
  'no AbortSignal.any': combinedSignals,
  'connections by name use @rms/net/dial': dialedNames,
  'no paths of one machine': machinePaths,
  'unused files, exports, dependencies': () => run('knip', ['--no-progress', '--no-config-hints']),
  'OpenAPI document': openApiDocument,
  'lock files': lockFiles,
  'npm scripts run on a current Node': npmScripts,
  'every test file belongs to a project': testFilesInProjects,
  'fast tests import only fast helpers': testTiers,
  'links and file names in documents and comments': documents,
  'every error code is documented': errorCodes,
  'budget of scripts/budget.json': budget,
  'regular expressions are linear': () => program('scripts/check-expressions.mjs', '--listed'),
};

await orExit(() => ensureInstalled({ development: true }));
const temporary = mkdtempSync(join(tmpdir(), 'rms-check-'));
let failed = 0;
const waiting = Object.entries(checks);
await Promise.all(Array.from({ length: availableParallelism() }, runWaiting));
rmSync(temporary, { recursive: true, force: true });
console.log(`${Object.keys(checks).length - failed} passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

/** Runs the waiting checks one after another, and prints their results. */
async function runWaiting() {
  for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
    const [name, check] = next;
    const startedAtMs = performance.now();
    const problem = await check();
    const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
    console.log(`${problem === undefined ? 'ok    ' : 'FAILED'}  ${name} (${seconds} s)`);
    if (problem === undefined) continue;
    failed += 1;
    console.log(problem.trimEnd().replaceAll(/^/gm, '        '));
  }
}

/** Runs a tool of node_modules/.bin. Resolves to its output if it fails. */
async function run(tool, args) {
  const { status, output } = await execute(join(root, 'node_modules', '.bin', tool), args);
  return status === 0 ? undefined : output || `${tool} failed`;
}

/** Checks the types of a project. With several threads, each checks the types that it uses again: twice the work. */
function types(project = 'tsconfig.json') {
  return run('tsc', ['--singleThreaded', '-p', project]);
}

/** Runs a program of this repository. Resolves to its output if it fails. */
async function program(file, ...args) {
  const { status, output } = await execute(process.execPath, [join(root, file), ...args]);
  return status === 0 ? undefined : output || `${file} failed`;
}

async function execute(command, args) {
  const env = {
    ...process.env,
    // buf finds its plugin through PATH.
    PATH: `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`,
    NO_COLOR: '1',
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  };
  const child = spawn(command, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  const closed = once(child, 'close').catch((error) => [error.message]);
  const [[status], stdout, stderr] = await Promise.all([closed, text(child.stdout), text(child.stderr)]);
  return { status, stdout, output: `${stdout}${stderr}` };
}

/** Checks that at least two workspaces use each package. Code with a single user belongs to it. */
function packageUsers() {
  const manifests = filesOf('*/package.json').map((file) => JSON.parse(readFileSync(join(root, file), 'utf8')));
  const problems = filesOf('packages/*/package.json').flatMap((file) => {
    const { name } = JSON.parse(readFileSync(join(root, file), 'utf8'));
    const users = manifests.filter((one) => name in { ...one.dependencies, ...one.devDependencies });
    return users.length < 2 ? [`${dirname(file)}: ${users.map((one) => one.name).join() || 'no user'}`] : [];
  });
  return problems.length === 0 ? undefined : problems.join('\n');
}

/** Compares the protos with main, or on main with the previous commit. Skips a shallow clone that has neither. */
async function protosCompatible() {
  const base = baseCommit();
  if (base === undefined) return undefined; // sources without a history
  const before = join(temporary, 'before');
  const archive = join(temporary, 'before.tar');
  try {
    git('archive', `--output=${archive}`, base, 'proto', 'buf.yaml');
  } catch {
    return undefined; // no protos in that commit
  }
  const unpacked = await execute('sh', ['-c', 'mkdir "$0" && tar -xf "$1" -C "$0"', before, archive]);
  if (unpacked.status !== 0) return unpacked.output;
  return run('buf', ['breaking', '--against', before]);
}

async function generatedCode() {
  const fresh = join(temporary, 'generated');
  const problem = await run('buf', ['generate', '--output', fresh]);
  if (problem !== undefined) return problem;
  const folder = join('packages', 'proto', 'gen');
  const files = new Set([...filesIn(join(fresh, folder)), ...filesIn(join(root, folder))]);
  const stale = [...files].filter((file) => textOf(join(fresh, folder, file)) !== textOf(join(root, folder, file)));
  return stale.length === 0 ? undefined : `run \`npm run generate\` and commit; out of date:\n${stale.join('\n')}`;
}

/** Checks that the generated parts of the clients match the current OpenAPI document. */
async function generatedParts() {
  // Loaded here, because the packages may have just been installed.
  const { generatedClients } = await import('./lib/generated-clients.mjs');
  const stale = [...(await generatedClients())].filter(([file, text]) => textOf(join(root, file)) !== text);
  if (stale.length === 0) return undefined;
  return `run \`npm run generate\` and commit; out of date:\n${stale.map(([file]) => file).join('\n')}`;
}

async function openApiDocument() {
  const printer = join(root, 'services', 'gateway', 'src', 'openapi', 'print-main.ts');
  const { status, stdout, output } = await execute(process.execPath, [printer]);
  if (status !== 0) return output;
  const document = join(temporary, 'openapi.json');
  writeFileSync(document, stdout);
  return run('redocly', ['lint', document]);
}

/**
 * Checks that no entry of a lock file contains a registry, because every installation would download from it, and that
 * each entry has the integrity of its package.
 */
function lockFiles() {
  const problems = [
    'package-lock.json',
    join('scripts', 'node', 'package-lock.json'),
    join('docs', 'site', 'package-lock.json'),
    join('scripts', 'clients', 'runtimes', 'package-lock.json'),
  ].flatMap((file) => {
    const { packages } = JSON.parse(readFileSync(join(root, file), 'utf8'));
    return Object.entries(packages).flatMap(([path, entry]) => {
      const { resolved = '', integrity, link } = entry;
      if (/^https?:/.test(resolved)) return [`${file}: ${path} names a registry: ${resolved}`];
      const installed = /(^|\/)node_modules\//.test(path) && !link;
      return installed && !integrity ? [`${file}: ${path} has no integrity`] : [];
    });
  });
  return problems.length === 0 ? undefined : problems.join('\n');
}

/** Checks that npm scripts start through scripts/run.mjs, because an older Node may not load any other file. */
function npmScripts() {
  const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const others = Object.keys(scripts).filter((name) => /\bnode (?!scripts\/run\.mjs )/.test(scripts[name]));
  return others.length === 0 ? undefined : `start with scripts/run.mjs: ${others.join(', ')}`;
}

/** Checks that every test file belongs to a project; otherwise it would never run. */
function testFilesInProjects() {
  const roots = ['test/cluster', ...fastFolders, ...suites.flatMap(foldersOf)];
  const missing = filesOf('*.test.ts', '*.test.tsx', '*.test.mjs').filter(
    (file) => !file.endsWith('.test.ts') || !roots.some((path) => file.startsWith(`${path}/`)),
  );
  return missing.length === 0 ? undefined : `no project includes:\n${missing.join('\n')}`;
}

/** Checks that the fast tier imports nothing that starts the complete tier's servers. */
function testTiers() {
  const problems = tierViolations(root, filesOf('*/test/*.ts', 'test/*.ts'), suites);
  return problems.length === 0 ? undefined : problems.join('\n');
}

/** Returns the existing files of the repository, new ones included, that match one of the patterns. */
function filesOf(...patterns) {
  const listed = git('ls-files', '--cached', '--others', '--exclude-standard', '--', ...patterns);
  return listed.split('\n').filter((file) => file !== '' && existsSync(join(root, file)));
}

function documents() {
  const problems = [...brokenReferences(root, filesOf()), ...brokenComments(root, filesOf())];
  return problems.length === 0 ? undefined : problems.join('\n');
}

/** Checks that imports have no side effects, because their order is arbitrary. Programs (main.ts) are exempt. */
async function sideEffects() {
  // Loaded here, because the packages may have just been installed.
  const { importSideEffects } = await import('./lib/side-effects.mjs');
  const modules = filesOf(...sources).filter(
    (file) => /\/src\/.*\.tsx?$/.test(file) && !/[/-]main[\w-]*\.tsx?$/.test(file),
  );
  const problems = modules.flatMap((file) => importSideEffects(root, file));
  return problems.length === 0 ? undefined : problems.join('\n');
}

/**
 * Checks that sources do not use AbortSignal.any: a signal that never aborts keeps a reference to every combination, so
 * loops that never end would leak. packages/async has withDeadline and untilAborted, which remove their listeners.
 */
function combinedSignals() {
  const problems = filesOf(...sources).filter(
    (file) => /\/src\/.*\.tsx?$/.test(file) && readFileSync(join(root, file), 'utf8').includes('AbortSignal.any('),
  );
  return problems.length === 0 ? undefined : `use withDeadline of packages/async instead: ${problems.join(', ')}`;
}

/**
 * Checks that sources do not connect to names with node:net or the global fetch: Node ends an attempt after 250 ms if
 * the name has another address. @rms/net/dial lets the addresses race.
 */
function dialedNames() {
  /** Connect to an address, to loopback, from a browser, in a program of a user, or with an agent that uses @rms/net/dial. */
  const exempt =
    /^packages\/(net\/src\/dial|testkit|local-postgres)\/|^clients\/|^services\/dashboard\/web\/|^standalone\/|\/(dialing-client|provider-fetch)\.ts$/;
  const dials = /import \{[^}]*\b(connect|createConnection)\b[^}]*\} from 'node:net'|(?<![.\w])fetch\(/;
  const problems = filesOf(...sources).filter(
    (file) => /\/src\/.*\.tsx?$/.test(file) && !exempt.test(file) && dials.test(readFileSync(join(root, file), 'utf8')),
  );
  return problems.length === 0 ? undefined : `use connect of @rms/net/dial instead: ${problems.join(', ')}`;
}

/**
 * Checks that no program contains a folder that only one machine or user has. Temporary files belong in the folder that
 * os.tmpdir() returns.
 */
function machinePaths() {
  const problems = filesOf('*.ts', '*.tsx', '*.mjs', '*.js', '*.cjs').flatMap((file) => {
    const lines = readFileSync(join(root, file), 'utf8').split('\n');
    return lines.flatMap((line, index) =>
      /['"`]\/(tmp|home|root|Users)\//.test(line) ? [`${file}:${index + 1}: ${line.trim()}`] : [],
    );
  });
  return problems.length === 0 ? undefined : problems.join('\n');
}

/**
 * Checks that docs/errors.md has a section with the HTTP status for every code of the error table and of the dashboard,
 * and no others.
 */
async function errorCodes() {
  const { errorKinds } = await import('../packages/base/src/errors/index.ts');
  const { refusals } = await import('../services/dashboard/src/http/refusal.ts');
  const text = readFileSync(join(root, 'docs', 'errors.md'), 'utf8');
  const documented = [...text.matchAll(/^### `(\w+)`\nStatus (\d{3})\./gm)].map(
    ([, code, status]) => `${code} ${status}`,
  );
  const actual = [
    ...Object.entries(errorKinds).map(([code, { httpStatus }]) => `${code} ${httpStatus}`),
    ...Object.entries(refusals).map(([code, [httpStatus]]) => `${code} ${httpStatus}`),
  ];
  const different = new Set(documented).symmetricDifference(new Set(actual));
  return different.size === 0
    ? undefined
    : `docs/errors.md differs from the error table or the refusals of the dashboard:\n${[...different].join('\n')}`;
}

/** Prints the figures of size, and checks that none is over its limit in scripts/budget.json. */
async function budget() {
  // Loaded here, because the packages may have just been installed.
  const { countFigures, exceededLimits } = await import('./lib/budget.mjs');
  const limits = JSON.parse(readFileSync(join(root, 'scripts', 'budget.json'), 'utf8'));
  const figures = countFigures(root, filesOf());
  for (const [name, figure] of Object.entries(figures)) {
    console.log(`        ${`${figure}`.padStart(6)} of ${`${limits[name]}`.padStart(6)}  ${name}`);
  }
  const problems = exceededLimits(figures, limits);
  return problems.length === 0 ? undefined : problems.join('\n');
}

function filesIn(folder) {
  const entries = readdirSync(folder, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map(({ parentPath, name }) => join(parentPath, name).slice(folder.length + 1));
}

function textOf(file) {
  return existsSync(file) ? readFileSync(file, 'utf8') : undefined;
}
