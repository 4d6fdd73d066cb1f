// npm run fuzz: starts a service and sends it requests that Schemathesis generates from /openapi.json: valid requests
// to the live environment, invalid requests to the sandbox. Requires Python 3.10 or later. FUZZ_SEED repeats a run.
import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cannotRun } from './lib/cannot-run.mjs';
import { PrepareError, prepare, root } from './lib/prepare.mjs';
import { findPythonProgram } from './lib/tools.mjs';

const version = '4.32.5';
/** Minimum number of requests of a run. Rounds with different seeds run until it is reached. */
const leastRequests = 10_000;
/** Maximum number of requests per operation and phase. With these numbers, a round usually sends a run's minimum. */
const examples = { positive: 90, negative: 200 };
/** Time limit of a round, in case it hangs. A round takes two to four minutes on two idle cores. */
const maxMs = 25 * 60_000;
/** All requests come from a single address, so with the default limits most would get 429. */
const openSettings = {
  RATE_LIMIT_REQUESTS: '0',
  WORKSPACE_RATE_LIMIT_REQUESTS: '0',
  MONTHLY_QUOTA: '0',
  AUTH_FAILURE_LIMIT: '0',
};

const folder = mkdtempSync(join(tmpdir(), 'rms-fuzz-'));
try {
  prepare({ development: true });
  const schemathesis = findPythonProgram('schemathesis', version);
  const { startStandalone } = await import('../packages/testkit/src/index.ts');
  const service = await startStandalone({ env: openSettings });
  try {
    process.exitCode = await fuzz(schemathesis, service);
  } finally {
    await service.stop();
  }
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  process.exitCode = cannotRun('fuzz', error.message);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Resolves to the exit code. */
async function fuzz(schemathesis, { liveUrl, sandboxUrl, rms }) {
  const newKey = async (environment) =>
    (await rms('keys', 'create', '--environment', environment, '--scope', 'admin', '--name', 'fuzz')).key;
  const [liveKey, testKey] = [await newKey('live'), await newKey('test')];
  const runs = [];
  const sum = (name) => runs.reduce((total, { cases }) => total + cases[name], 0);
  for (
    let seed = Number(process.env.FUZZ_SEED || Math.floor(Math.random() * 2 ** 32));
    sum('generated') < leastRequests;
    seed += 1
  ) {
    const round = await Promise.all([
      fuzzEnvironment(schemathesis, { mode: 'positive', url: liveUrl, key: liveKey, seed }),
      fuzzEnvironment(schemathesis, { mode: 'negative', url: sandboxUrl, key: testKey, seed }),
    ]);
    for (const { ok, output } of round) if (!ok) console.log(output);
    runs.push(...round);
    console.log(
      `fuzz: ${sum('generated')} requests, ${sum('unique_failures')} failures, ${sum('errored')} errors, seed ${seed}`,
    );
    if (round.some(({ cases }) => cases.generated === 0)) break;
  }
  const failed = runs.filter(({ ok, cases }) => !ok || cases.generated === 0).length;
  console.log(`${runs.length - failed} passed, ${failed} failed`);
  return failed === 0 ? 0 : 1;
}

async function fuzzEnvironment(schemathesis, { mode, url, key, seed }) {
  const reports = join(folder, `${mode}-${seed}`);
  const args = [
    ['--config-file', join(root, 'scripts', 'fuzz', 'schemathesis.toml')],
    ['run', `${url}/openapi.json`],
    ['--header', `Authorization: Bearer ${key}`],
    ['--checks', 'all', '--continue-on-failure', '--mode', mode, '--max-examples', String(examples[mode])],
    ['--seed', String(seed), '--generation-database', 'none', '--no-color'],
    ['--report', 'json', '--report-dir', reports],
  ].flat();
  const child = spawn(schemathesis, args, {
    cwd: folder,
    env: { ...process.env, SCHEMATHESIS_HOOKS: join(root, 'scripts', 'fuzz', 'hooks.py') },
    timeout: maxMs,
    killSignal: 'SIGINT',
  });
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => {
      output += text;
    });
  }
  const code = await new Promise((resolve, reject) => child.once('error', reject).once('close', resolve));
  const report = existsSync(reports) ? readdirSync(reports).find((file) => file.startsWith('json-')) : undefined;
  if (!report) throw new PrepareError(`schemathesis wrote no report: ${output}`);
  const { test_cases: cases, complete } = JSON.parse(readFileSync(join(reports, report), 'utf8'));
  return { ok: code === 0 && complete, cases, output };
}
