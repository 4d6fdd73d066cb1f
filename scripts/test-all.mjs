// npm run test:all: runs every kind of test in sequence, and prints the total of passed and failed tests as its last
// line. For a kind whose tools are missing, prints the reason; with CI=true, that counts as a failure.
//
//   tests       all projects of jest.config.js
//   statements  the plans of the SQL statements that these tests have sent (see scripts/test-statements.mjs)
//   rules       alert rules (promtool)
//   chart       the Helm chart (helm, kubeconform, helm-unittest; built with Go when missing)
//   fuzz        requests generated from the OpenAPI document (Python)
//   cluster     the chart in the Kubernetes cluster of KUBECONFIG, or the command in TEST_CLUSTER_COMMAND
//
// On SIGTERM, ends the running kind, counts it as failed together with the kinds that have not run, and reports.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { ensureNode } from './lib/node.mjs';
import { root } from './lib/prepare.mjs';

await ensureNode();
const script = (name, ...args) => [process.execPath, join(root, 'scripts', name), ...args];
const cluster = process.env.TEST_CLUSTER_COMMAND
  ? ['bash', '-c', process.env.TEST_CLUSTER_COMMAND]
  : process.env.KUBECONFIG && script('test-cluster.mjs');
const recording = mkdtempSync(join(tmpdir(), 'rms-statements-'));
process.on('exit', () => rmSync(recording, { recursive: true, force: true }));
const kinds = {
  rules: script('test-rules.mjs'),
  chart: script('test-chart.mjs'),
  tests: script('test.mjs', '--all'),
  statements: [process.execPath, join(root, 'test', 'statements', 'main.ts'), recording],
  fuzz: script('fuzz.mjs'),
  cluster: cluster || 'KUBECONFIG is not set. Set it to the cluster to test in.',
};
let running;
let terminated = false;
process.on('SIGTERM', () => {
  terminated = true;
  running?.kill('SIGTERM');
});
const rows = [];
for (const [kind, command] of Object.entries(kinds)) {
  console.log(`\n== ${kind}`);
  const startedAtMs = performance.now();
  const reason = terminated ? 'terminated' : typeof command === 'string' && command;
  const result = reason ? notRun(reason) : await run(command);
  rows.push({ kind, ...result, minutes: ((performance.now() - startedAtMs) / 60_000).toFixed(1) });
}
console.log('');
for (const { kind, failed, end } of rows)
  if (end && failed > 0) console.log(`== last output of ${kind} (failed)\n${end}\n`);
for (const { kind, passed, failed, minutes, reason } of rows) {
  console.log(
    `${kind.padEnd(10)} ${reason ? `not run: ${reason}` : `${passed} passed, ${failed} failed`} (${minutes} min)`,
  );
}
const sum = (name) => rows.reduce((total, row) => total + row[name], 0);
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exit(sum('failed') > 0 ? 1 : 0);

function notRun(reason) {
  console.log(`not run: ${reason}`);
  return { passed: 0, failed: terminated || process.env.CI === 'true' ? 1 : 0, reason };
}

/**
 * Runs a command and reads its last line "N passed, N failed". A command that fails but reports no failure counts as
 * one failure.
 */
async function run([command, ...args]) {
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
