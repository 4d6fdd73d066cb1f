// npm run test:rules: checks the alert rules of the chart with promtool. Each rule must be well-formed, must fire or
// stay quiet as its cases in test/rules/cases.mjs say, and must have a runbook in docs/operations.md. PROMTOOL is a
// promtool outside PATH.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parse } from 'yaml';
import { cases } from '../test/rules/cases.mjs';
import { cannotRun } from './lib/cannot-run.mjs';
import { PrepareError, root } from './lib/prepare.mjs';
import { findPromtool } from './lib/tools.mjs';

const folder = join(root, 'deploy', 'helm', 'rms', 'files', 'rules');
const files = readdirSync(folder).filter((name) => name.endsWith('.yaml'));
const operations = join(root, 'docs', 'operations.md');
const runbooks = existsSync(operations) ? readFileSync(operations, 'utf8').toLowerCase() : '';
const temporary = mkdtempSync(join(tmpdir(), 'rms-rules-'));
const results = [];

let promtool;
try {
  promtool = findPromtool();
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  process.exit(cannotRun('rules', error.message));
}
try {
  for (const file of files) note(`${file} is well-formed`, run('check', 'rules', join(folder, file)));
  const alerts = new Set(files.flatMap((file) => alertsIn(join(folder, file))));
  for (const alert of alerts) {
    const own = cases.some((one) => one.alert === alert);
    note(`${alert} has a case`, own ? undefined : 'test/rules/cases.mjs has none');
    const heading = new RegExp(`^#+ ${alert.toLowerCase()}$`, 'm').test(runbooks);
    note(`${alert} has a runbook`, heading ? undefined : `docs/operations.md has no section "${alert}"`);
  }
  const tests = cases.flatMap((one, i) => {
    const labels = Object.entries(one.labels ?? {}).map(([name, value]) => `${name}="${value}"`);
    const name = `${one.alert}{${labels}}`;
    return [
      { name: `${name} fires`, file: write(`${i}-fires.yaml`, one, labels, one.fires, 1) },
      { name: `${name} is quiet`, file: write(`${i}-quiet.yaml`, one, labels, one.quiet, 0) },
    ];
  });
  // Runs all tests in one process. If it fails, runs each test separately to identify the failing tests.
  const allPass = run('test', 'rules', ...tests.map(({ file }) => file)) === undefined;
  for (const { name, file } of tests) note(name, allPass ? undefined : run('test', 'rules', file));
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

/** Returns promtool's output if it fails. */
function run(...args) {
  const { status, stdout, stderr } = spawnSync(promtool, args, { encoding: 'utf8' });
  return status === 0 ? undefined : `${stdout}${stderr}`;
}

function alertsIn(file) {
  return [...readFileSync(file, 'utf8').matchAll(/^ *- alert: (\w+)$/gm)].map(([, name]) => name);
}

/**
 * Writes a file with one alert and the recording rules that it depends on, and returns its path. Tests with all rules
 * would take minutes.
 */
function rulesFor(alert) {
  const file = join(temporary, `rules-${alert}.yaml`);
  if (existsSync(file)) return file;
  const groups = files.flatMap((name) => parse(readFileSync(join(folder, name), 'utf8')).groups);
  const all = groups.flatMap(({ rules }) => rules);
  const needed = new Set(all.filter((rule) => rule.alert === alert));
  // The loop also visits rules that are added to the set during it, so it finds indirect dependencies as well.
  for (const { expr } of needed) {
    for (const rule of all) if (rule.record && String(expr).includes(rule.record)) needed.add(rule);
  }
  const reduced = groups.map((group) => ({ ...group, rules: group.rules.filter((rule) => needed.has(rule)) }));
  writeFileSync(file, JSON.stringify({ groups: reduced.filter(({ rules }) => rules.length > 0) }));
  return file;
}

/** Writes a test for promtool. The test queries ALERTS, so that it does not repeat the alert's texts. */
function write(name, { alert, atMinutes }, labels, series, firing) {
  const matchers = [`alertname="${alert}"`, 'alertstate="firing"', ...labels].join(',');
  const test = {
    rule_files: [rulesFor(alert)],
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
