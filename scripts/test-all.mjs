// npm run test:all: runs the complete tier, suite after suite, and prints a table of suite, time, passed and failed. The
// last line is "N passed, N failed". A suite with missing tools says why; with CI=true, that counts as a failure.
//
//   fast        the fast tier (npm test)
//   stores, faults, browser, traces, snippets   the suites of test/projects.mjs
//   statements  the plans of SQL statements that the fast tier has sent (see scripts/test-statements.mjs)
//   expressions the product's regular expressions (scripts/check-expressions.mjs)
//   rules       alert rules (promtool)
//   chart       the Helm chart (helm, kubeconform, helm-unittest; built with Go when missing)
//   clients     our clients, and clients generated from the OpenAPI document (Java with Maven, Go, Python, npm)
//   fuzz        requests generated from the OpenAPI document (Python)
//   node-26     the API tests on the newest Node
//   cluster     the chart in the Kubernetes cluster of KUBECONFIG, or the command in TEST_CLUSTER_COMMAND
//
// On SIGTERM, ends the running suite, counts it as failed together with the suites that have not run, and reports.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { suites as testSuites } from '../test/projects.mjs';
import { root } from './lib/prepare.mjs';

const script = (name, ...args) => [process.execPath, join(root, 'scripts', name), ...args];
const recording = mkdtempSync(join(tmpdir(), 'rms-statements-'));
process.on('exit', () => rmSync(recording, { recursive: true, force: true }));
const suites = {
  expressions: script('check-expressions.mjs'),
  rules: script('test-rules.mjs'),
  chart: script('test-chart.mjs'),
  fast: script('test.mjs'),
  statements: [process.execPath, join(root, 'test', 'statements', 'main.ts'), recording],
  ...Object.fromEntries(testSuites.map((suite) => [suite, script('test.mjs', suite)])),
  clients: script('test-clients.mjs'),
  fuzz: script('fuzz.mjs'),
  'node-26': script('test-newest-node.mjs'),
  cluster: process.env.TEST_CLUSTER_COMMAND
    ? ['bash', '-c', process.env.TEST_CLUSTER_COMMAND]
    : script('test-cluster.mjs'),
};
let running;
let terminated = false;
process.on('SIGTERM', () => {
  terminated = true;
  running?.kill('SIGTERM');
});
const rows = [];
for (const [suite, command] of Object.entries(suites)) {
  console.log(`\n== ${suite}`);
  const startedAtMs = performance.now();
  const result = terminated ? { passed: 0, failed: 1, end: 'terminated before it ran' } : await run(command);
  rows.push({ suite, ...result, minutes: ((performance.now() - startedAtMs) / 60_000).toFixed(1) });
}
console.log('');
for (const { suite, failed, end } of rows) if (failed > 0) console.log(`== last output of ${suite} (failed)\n${end}\n`);
console.log('suite        minutes  passed  failed');
for (const { suite, passed, failed, minutes } of rows) {
  console.log(
    `${suite.padEnd(11)}  ${minutes.padStart(7)}  ${String(passed).padStart(6)}  ${String(failed).padStart(6)}`,
  );
}
const sum = (name) => rows.reduce((total, row) => total + row[name], 0);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exit(sum('failed') > 0 ? 1 : 0);

/**
 * Runs a command and reads its last line "N passed, N failed". A command that fails but reports no failure counts as
 * one failure.
 */
async function run(commandLine) {
  const [command, ...args] = commandLine;
  const child = spawn(command, args, {
    cwd: root,
    env: { ...process.env, STATEMENTS_DIR: recording },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout.setEncoding('utf8').on('data', (text) => {
    process.stdout.write(text);
    output = (output + text).slice(-4_096);
  });
  running = child;
  const closed = once(child, 'close');
  const [code] = await once(child, 'exit');
  // A process that the command has left behind may keep the pipe open.
  await Promise.race([closed, delay(5_000, undefined, { ref: false })]);
  const [, passed = 0, failed = 0] = output.match(/^(\d+) passed, (\d+) failed\s*$(?![\s\S]*\d+ passed)/m) ?? [];
  return { passed: Number(passed), failed: code === 0 ? Number(failed) : Math.max(1, Number(failed)), end: output };
}
