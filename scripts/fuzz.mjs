// npm run fuzz: Schemathesis sends requests that it makes from /openapi.json to a service of its own, valid ones to
// the live environment and wrong ones to the sandbox, and judges every answer. Needs Python 3.10 or later. FUZZ_VENV names a folder that keeps
// Schemathesis for the next run; FUZZ_SEED repeats a run.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PrepareError, prepare, root } from './lib/prepare.mjs';

const version = '4.32.5';
const leastRequests = 10_000;
/** Requests for each endpoint and phase: those that fit the document take longer to make. */
const examples = { positive: 230, negative: 530 };
const longestMs = 5 * 60_000;
/** Requests are many and from one address; these limits would answer most of them. */
const openSettings = { RATE_LIMIT_REQUESTS: '0', MONTHLY_QUOTA: '0', AUTH_FAILURE_LIMIT: '0' };

const folder = mkdtempSync(join(tmpdir(), 'rms-fuzz-'));
try {
  prepare({ development: true });
  const schemathesis = installSchemathesis(process.env.FUZZ_VENV || join(folder, 'venv'));
  const { startStandalone } = await import('@rms/testkit');
  const service = await startStandalone({ env: openSettings });
  try {
    process.exitCode = await fuzz(schemathesis, service);
  } finally {
    await service.stop();
  }
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  console.error(`fuzz: ${error.message}`);
  process.exitCode = 1;
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Answers with the program in that virtual environment, which is made if it isn't there. */
function installSchemathesis(venv) {
  const program = join(venv, 'bin', 'schemathesis');
  if (existsSync(program) && run(program, ['--version']).includes(version)) return program;
  run('python3', ['-m', 'venv', venv]);
  run(join(venv, 'bin', 'pip'), ['install', '--quiet', '--disable-pip-version-check', `schemathesis==${version}`]);
  return program;
}

function run(command, args) {
  const { status, stdout, stderr, error } = spawnSync(command, args, { encoding: 'utf8' });
  if (status === 0) return stdout;
  throw new PrepareError(`${command} ${args.join(' ')}: ${error?.message ?? stderr.trim()}`);
}

/** Answers with the exit code. */
async function fuzz(schemathesis, { liveUrl, sandboxUrl, rms }) {
  const seed = Number(process.env.FUZZ_SEED || Math.floor(Math.random() * 2 ** 32));
  const newKey = async (environment) =>
    (await rms('keys', 'create', '--environment', environment, '--scope', 'admin', '--name', 'fuzz')).key;
  const [liveKey, testKey] = [await newKey('live'), await newKey('test')];
  const runs = await Promise.all([
    fuzzEnvironment(schemathesis, { mode: 'positive', url: liveUrl, key: liveKey, seed }),
    fuzzEnvironment(schemathesis, { mode: 'negative', url: sandboxUrl, key: testKey, seed }),
  ]);
  for (const { ok, output } of runs) if (!ok) console.log(output);
  const sum = (name) => runs.reduce((total, { cases }) => total + cases[name], 0);
  const enough = sum('generated') >= leastRequests;
  console.log(
    `fuzz: ${sum('generated')} requests, ${sum('unique_failures')} failures, ${sum('errored')} errors, seed ${seed}` +
      (enough ? '' : `; fewer than ${leastRequests}`),
  );
  return enough && runs.every(({ ok }) => ok) ? 0 : 1;
}

async function fuzzEnvironment(schemathesis, { mode, url, key, seed }) {
  const reports = join(folder, mode);
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
    timeout: longestMs,
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
  if (!report) throw new PrepareError(`schemathesis has left no report: ${output}`);
  const { test_cases: cases, complete } = JSON.parse(readFileSync(join(reports, report), 'utf8'));
  return { ok: code === 0 && complete, cases, output };
}
