import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { endLeftovers } from './leftover.mjs';
import { compileCache, root } from './prepare.mjs';
import { provideServers } from './test-servers.mjs';

/** Fast tests partly wait, so four workers keep two processors busy. Tests of suites run several processes each. */
const workers = { fast: 4, suite: 2 };

/** Space in memory that a run needs; the complete fast tier uses about half of it. */
const memoryBytes = 4 * 1024 ** 3;

/**
 * Runs jest with `args`: patterns of file paths, names of projects, options of jest. Without a pattern or project, runs
 * the projects of the fast tier. All files that tests create are in one temporary folder.
 * Afterwards, kills the processes that still use the folder, and removes it.
 * Resolves to `{result, status, leftovers, interrupted}`: jest's report, its exit code, lines that name killed
 * processes, and whether a signal interrupted the run.
 */
export async function runTests(args, { config = 'jest.config.js' } = {}) {
  const folder = mkdtempSync(join(folderOfRuns(), 'rms-test-run-'));
  const [servers, temporary, report] = ['servers', 'tmp', 'result.json'].map((name) => join(folder, name));
  for (const path of [servers, temporary]) mkdirSync(path);
  // If this user is root, PostgreSQL runs as another user, who must reach the data.
  for (const path of [folder, servers, temporary]) chmodSync(path, 0o711);
  const stopServers = provideServers(servers);
  let interrupted = false;
  let jest;
  // A terminal sends Ctrl-C to jest as well. This process waits until jest ends, then stops the servers.
  const onInterrupt = () => {
    interrupted = true;
  };
  const onTerminate = () => {
    interrupted = true;
    jest?.kill('SIGTERM');
  };
  process.on('SIGINT', onInterrupt);
  process.on('SIGTERM', onTerminate);
  try {
    jest = spawn(process.execPath, [...(await jestCommand(args, config)), '--json', `--outputFile=${report}`], {
      cwd: root,
      env: { ...process.env, TEST_RUN_DIR: servers, TMPDIR: temporary, NODE_COMPILE_CACHE: compileCache },
      // The report goes to stderr; stdout would repeat the JSON.
      stdio: ['inherit', 'ignore', 'inherit'],
    });
    const [code] = await once(jest, 'exit');
    return { status: code ?? 1, result: readReport(report), interrupted, leftovers: await end() };
  } finally {
    process.off('SIGINT', onInterrupt);
    process.off('SIGTERM', onTerminate);
    rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
  }

  async function end() {
    await stopServers();
    return endLeftovers(folder);
  }
}

async function jestCommand(args, config) {
  const { default: configuration, suites = [] } = await import(`../../${config}`);
  const names = (configuration.projects ?? []).map(({ displayName }) => displayName);
  const chosen = args.filter((arg) => names.includes(arg));
  const rest = args.filter((arg) => !names.includes(arg));
  if (names.length > 0 && chosen.length === 0 && !rest.some((arg) => !arg.startsWith('-'))) {
    chosen.push(...names.filter((name) => !suites.includes(name)));
  }
  const isFast = chosen.length > 0 && !chosen.some((name) => suites.includes(name));
  const command = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning'];
  command.push(join(root, 'node_modules', 'jest', 'bin', 'jest.js'), '--config', join(root, config));
  if (!rest.some((arg) => /^(-i|-w|--runInBand|--maxWorkers)/.test(arg)))
    command.push(`--maxWorkers=${isFast ? workers.fast : workers.suite}`);
  command.push(...rest);
  if (chosen.length > 0) command.push('--selectProjects', ...chosen);
  return command;
}

/**
 * Returns where runs keep their files: in memory if there is much space and TMPDIR names no other place. In memory,
 * PostgreSQL copies a template database in an eighth of the time that it takes on a disk.
 */
function folderOfRuns() {
  const memory = '/dev/shm';
  if (process.env.TMPDIR) return tmpdir();
  try {
    const { bavail, bsize } = statfsSync(memory);
    return bavail * bsize >= memoryBytes ? memory : tmpdir();
  } catch {
    return tmpdir();
  }
}

/** Returns the report; undefined if jest did not write one. */
function readReport(file) {
  try {
    return JSON.parse(readFileSync(file, 'utf8'));
  } catch {
    return undefined;
  }
}
