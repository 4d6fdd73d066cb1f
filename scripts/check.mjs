// npm run check: everything about the sources that needs no running service. All checks run, even when one fails.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { ensureInstalled, PrepareError, root } from './lib/prepare.mjs';

const sources = ['packages', 'services', 'cli', 'standalone'];

/** Each answers with what is wrong, or undefined. */
const checks = {
  'format and lint': () => run('biome', ['ci', '--colors=off', '--log-level=error', '.']),
  'types of the sources': () => run('tsc', ['-b']),
  'types of the pages': () => run('tsc', ['-p', 'services/dashboard/web']),
  'types of the tests': () => run('tsc', ['-p', 'tsconfig.test.json']),
  'protos: lint': () => run('buf', ['lint']),
  'protos: compatible': protosCompatible,
  'protos: generated code': generatedCode,
  'imports between workspaces': () => run('depcruise', ['--output-type', 'err', ...sources]),
  'unused files, exports, dependencies': () => run('knip', ['--no-progress', '--no-config-hints']),
  'OpenAPI document': openApiDocument,
  'lock file names no registry': lockFile,
};

try {
  ensureInstalled();
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  console.error(`check: ${error.message}`);
  process.exit(1);
}
const temporary = mkdtempSync(join(tmpdir(), 'rms-check-'));
let failed = 0;
for (const [name, check] of Object.entries(checks)) {
  const startedAtMs = performance.now();
  const problem = check();
  const seconds = ((performance.now() - startedAtMs) / 1_000).toFixed(1);
  console.log(`${problem === undefined ? 'ok    ' : 'FAILED'}  ${name} (${seconds} s)`);
  if (problem === undefined) continue;
  failed += 1;
  console.log(problem.trimEnd().replaceAll(/^/gm, '        '));
}
rmSync(temporary, { recursive: true, force: true });
console.log(`${Object.keys(checks).length - failed} checks passed, ${failed} failed`);
process.exitCode = failed > 0 ? 1 : 0;

/** Runs a tool of node_modules/.bin; answers with its output if it fails. */
function run(tool, args) {
  const { status, output } = execute(join(root, 'node_modules', '.bin', tool), args);
  return status === 0 ? undefined : output || `${tool} failed`;
}

function execute(command, args, options = {}) {
  const env = {
    ...process.env,
    // buf looks for its plugin there.
    PATH: `${join(root, 'node_modules', '.bin')}${delimiter}${process.env.PATH}`,
    NO_COLOR: '1',
    REDOCLY_TELEMETRY: 'off',
    REDOCLY_SUPPRESS_UPDATE_NOTICE: 'true',
  };
  const done = spawnSync(command, args, { cwd: root, encoding: 'utf8', env, maxBuffer: 64 * 1024 * 1024, ...options });
  return { status: done.status, stdout: done.stdout ?? '', output: `${done.stdout ?? ''}${done.stderr ?? ''}` };
}

/** Against main, or on main itself against the commit before; what a shallow clone does not hold is not compared. */
function protosCompatible() {
  const base = ['origin/main', 'main', 'HEAD^', 'HEAD'].find((ref) => {
    const commit = execute('git', ['rev-parse', '--verify', '--quiet', `${ref}^{commit}`]);
    return commit.status === 0 && (ref === 'HEAD' || commit.stdout !== execute('git', ['rev-parse', 'HEAD']).stdout);
  });
  if (base === undefined) return undefined; // sources without a history
  const before = join(temporary, 'before');
  const archive = join(temporary, 'before.tar');
  const { status } = execute('git', ['archive', `--output=${archive}`, base, 'proto', 'buf.yaml']);
  if (status !== 0) return undefined; // no protos in that commit
  const unpacked = execute('sh', ['-c', 'mkdir "$0" && tar -xf "$1" -C "$0"', before, archive]);
  if (unpacked.status !== 0) return unpacked.output;
  return run('buf', ['breaking', '--against', before]);
}

function generatedCode() {
  const fresh = join(temporary, 'generated');
  const problem = run('buf', ['generate', '--output', fresh]);
  if (problem !== undefined) return problem;
  const folder = join('packages', 'proto', 'gen');
  const files = new Set([...filesIn(join(fresh, folder)), ...filesIn(join(root, folder))]);
  const stale = [...files].filter((file) => textOf(join(fresh, folder, file)) !== textOf(join(root, folder, file)));
  return stale.length === 0 ? undefined : `run \`npm run generate\` and commit; not current:\n${stale.join('\n')}`;
}

function openApiDocument() {
  const printer = join(root, 'services', 'gateway', 'dist', 'openapi', 'print.js');
  const { status, stdout, output } = execute(process.execPath, [printer]);
  if (status !== 0) return output;
  const document = join(temporary, 'openapi.json');
  writeFileSync(document, stdout);
  return run('redocly', ['lint', document]);
}

/** A registry's address in the lock file would send everyone there. */
function lockFile() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'));
  const named = Object.entries(packages).filter(([, { resolved = '' }]) => /^https?:/.test(resolved));
  return named.length === 0 ? undefined : named.map(([path, { resolved }]) => `${path}: ${resolved}`).join('\n');
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
