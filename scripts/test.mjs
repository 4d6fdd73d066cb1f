// npm test [-- jest's arguments]: installs and builds what is missing, brings PostgreSQL, Redis and Kafka for the whole
// run, runs jest, and says last how many tests passed and failed.
//
// A server of one's own is named by TEST_DATABASE_URL, TEST_REDIS_URL or TEST_KAFKA_BROKERS. Suites whose server cannot
// be had are skipped and named at the end; with CI=true that is a failure.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PrepareError, prepare, root } from './lib/prepare.mjs';
import { readResult, summary } from './lib/test-result.mjs';
import { bringServers } from './lib/test-servers.mjs';

/** Each runs services and a broker of its own at times; more would only wait for a processor. */
const workers = 2;

// A Ctrl-C reaches jest by itself. Here it means: let jest end, then stop the servers.
let interrupted = false;
let jest;
process.on('SIGINT', () => {
  interrupted = true;
});
process.on('SIGTERM', () => {
  interrupted = true;
  jest?.kill('SIGTERM');
});

try {
  prepare({ development: true });
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  process.stderr.write(`rms: ${error.message}\n`);
  process.exit(1);
}

const folder = mkdtempSync(join(tmpdir(), 'rms-test-run-'));
const { env, stop } = await bringServers();
let status = 1;
let result;
try {
  if (!env.TEST_DATABASE_URL) throw new Error('there is no PostgreSQL, which nearly all tests need');
  if (!interrupted) status = await runJest();
  result = readResult(join(folder, 'result.json'));
} catch (error) {
  process.stderr.write(`rms: ${error.message}\n`);
} finally {
  await stop();
  rmSync(folder, { recursive: true, force: true });
}
if (interrupted) {
  console.log('\ninterrupted');
  process.exit(130);
}
const { lines, skipped } = summary(result);
if (status === 0 && process.env.CI === 'true' && skipped > 0) {
  lines.unshift('Nothing may be skipped with CI=true: this run has failed.');
  status = 1;
}
console.log(`\n${lines.join('\n')}`);
process.exit(status);

/** Resolves to jest's exit code. */
async function runJest() {
  const given = process.argv.slice(2);
  const args = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', '--disable-warning=DEP0040'];
  args.push(
    join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
    '--json',
    `--outputFile=${join(folder, 'result.json')}`,
  );
  if (!given.some((arg) => /^(-i|-w|--runInBand|--maxWorkers)/.test(arg))) args.push(`--maxWorkers=${workers}`);
  jest = spawn(process.execPath, [...args, ...given], {
    cwd: root,
    env: { ...process.env, ...env },
    // The report goes to stderr; with --json and a file nothing that is worth showing goes to stdout.
    stdio: ['inherit', 'ignore', 'inherit'],
  });
  const [code] = await once(jest, 'exit');
  return code ?? 1;
}
