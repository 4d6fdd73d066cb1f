import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projects, suites } from '../../test/projects.mjs';
import { endLeftovers } from './leftover.mjs';
import { compileCache, root } from './prepare.mjs';
import { provideServers } from './test-servers.mjs';

/** Fast tests partly wait, so five workers keep two processors busy. Tests of suites run several processes each. */
const workers = { fast: 5, suite: 2 };

/** Free space that the file system in memory needs, so that a run does not fill it. */
const memoryBytes = 4 * 1024 ** 3;

/** Options of jest that take the next argument as value. */
const withValue = ['-t', '--testNamePattern', '--bail', '-w', '--maxWorkers', '--seed', '--shard'];

/** Options of this script, with the variable that the configuration of jest reads. */
const ownOptions = { '--isolate': 'TEST_ISOLATE', '--shuffle': 'TEST_SHUFFLE' };

/**
 * Runs jest with `args`: parts of file paths, names of projects, options of jest, --isolate for a process per file, and
 * --shuffle for files in random order.
 * Without a path or project, runs the fast tier's projects. All files that tests create are in one temporary
 * folder. Afterwards, kills the processes that still use the folder, and removes it.
 * Resolves to `{result, status, leftovers, interrupted}`: the report (test/runner/reporter.mjs), jest's exit code, lines that
 * name killed processes, and whether a signal interrupted the run.
 */
export async function runTests(args, { config = 'jest.config.mjs' } = {}) {
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
    const command = jestCommand(args, config);
    jest = spawn(process.execPath, command.args, {
      cwd: root,
      env: {
        ...process.env,
        ...command.env,
        TEST_RUN_DIR: servers,
        TEST_REPORT: report,
        TMPDIR: temporary,
        NODE_COMPILE_CACHE: compileCache,
      },
      // stdout is for the summary.
      stdio: ['inherit', 2, 'inherit'],
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

function jestCommand(args, config) {
  const chosen = args.filter((arg) => projects.has(arg));
  const rest = args.filter((arg) => !projects.has(arg) && !(arg in ownOptions));
  const hasPath = rest.some((arg, index) => !arg.startsWith('-') && !withValue.includes(rest[index - 1]));
  if (chosen.length === 0) chosen.push(...[...projects.keys()].filter((name) => hasPath || !suites.includes(name)));
  const isFast = !chosen.some((name) => suites.includes(name));
  const isLimited = rest.some((option) => /^(-i|--runInBand|-w|--maxWorkers(=.*)?)$/.test(option));
  const limit = isLimited ? [] : ['--maxWorkers', `${isFast ? workers.fast : workers.suite}`];
  const program = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const given = Object.entries(ownOptions).filter(([option]) => args.includes(option));
  return {
    args: [program, '--config', join(root, config), ...limit, ...rest],
    env: { TEST_PROJECTS: chosen.join(' '), ...Object.fromEntries(given.map(([, variable]) => [variable, '1'])) },
  };
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
