// npm run test:rules: the alert rules of the chart, by promtool: that they are well-formed, that each fires when it should
// and is quiet when it should not (test/rules/cases.mjs), and that each has its part in docs/operations.md.
//
// promtool comes with Prometheus; PROMTOOL names it if it is not on the path.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cases } from '../test/rules/cases.mjs';
import { root } from './lib/prepare.mjs';

const promtool = process.env.PROMTOOL || 'promtool';
const folder = join(root, 'deploy', 'helm', 'rms', 'files', 'rules');
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
const operations = join(root, 'docs', 'operations.md');
const runbooks = existsSync(operations) ? readFileSync(operations, 'utf8').toLowerCase() : '';
const temporary = mkdtempSync(join(tmpdir(), 'rms-rules-'));
const results = [];

if (spawnSync(promtool, ['--version']).status !== 0) {
  console.error(`test-rules: ${promtool} cannot be run; it comes with Prometheus, and PROMTOOL says where it is`);
  process.exit(1);
}
try {
  for (const file of files) note(`${file} is well-formed`, run('check', 'rules', join(folder, file)));
  const alerts = new Set(files.flatMap((file) => alertsIn(join(folder, file))));
  for (const alert of alerts) {
    const own = cases.some((one) => one.alert === alert);
    note(`${alert} has a case`, own ? undefined : 'test/rules/cases.mjs has none');
    const heading = new RegExp(`^#+ ${alert.toLowerCase()}$`, 'm').test(runbooks);
    note(`${alert} has a runbook`, heading ? undefined : `docs/operations.md has no part "${alert}"`);
  }
  for (const [i, one] of cases.entries()) {
    const labels = Object.entries(one.labels ?? {}).map(([name, value]) => `${name}="${value}"`);
    const name = `${one.alert}{${labels}}`;
    note(`${name} fires`, run('test', 'rules', write(`${i}-fires.yaml`, one, labels, one.fires, 1)));
    note(`${name} is quiet`, run('test', 'rules', write(`${i}-quiet.yaml`, one, labels, one.quiet, 0)));
  }
} finally {
  rmSync(temporary, { recursive: true });
}
const failed = results.filter(({ problem }) => problem !== undefined);
for (const { name, problem } of failed)
  console.log(`FAILED  ${name}\n${problem.trimEnd().replaceAll(/^/gm, '        ')}`);
console.log(`${results.length - failed.length} passed, ${failed.length} failed`);
process.exitCode = failed.length > 0 ? 1 : 0;

function note(name, problem) {
  results.push({ name, problem });
}

/** Answers with what promtool says if it fails. */
function run(...args) {
  const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: 'utf8' });
  return status === 0 ? undefined : `${stdout}${stderr}`;
}

function alertsIn(file) {
  return [...readFileSync(file, 'utf8').matchAll(/^ *- alert: (\w+)$/gm)].map(([, name]) => name);
}

/** A test in promtool's form: whether the alert fires is asked of ALERTS, so that its texts are not repeated here. */
function write(name, { alert, atMinutes }, labels, series, firing) {
  const matchers = [`alertname="${alert}"`, 'alertstate="firing"', ...labels].join(',');
  const test = {
    rule_files: files.map((file) => join(folder, file)),
    evaluation_interval: '1m',
    tests: [
      {
        interval: '1m',
        input_series: series.map((text) => {
          const at = text.lastIndexOf('} ') + 1;
          return { series: text.slice(0, at), values: text.slice(at + 1) };
        }),
        promql_expr_test: [
          {
            expr: `count(ALERTS{${matchers}}) or vector(0)`,
            eval_time: `${atMinutes}m`,
            exp_samples: [{ labels: '{}', value: firing }],
          },
        ],
      },
    ],
  };
  const file = join(temporary, name);
  // JSON is YAML.
  writeFileSync(file, JSON.stringify(test));
  return file;
}
