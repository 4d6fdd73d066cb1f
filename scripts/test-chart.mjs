// npm run test:chart: tests the Helm chart.
//
// - Checks every scenario of ci/*.yaml with `helm lint --strict`, and validates the rendered objects against the strict
//   schemas of all supported Kubernetes versions.
// - Compares the values with their schema.
// - Runs the unit tests of the templates.
//
// The last line is "N passed, N failed". scripts/lib/tools.mjs finds or installs the programs.
import { spawnSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { findCrdSchemas } from './lib/crd-schemas.mjs';
import { PrepareError, root } from './lib/prepare.mjs';
import { findProgram, findSchemas } from './lib/tools.mjs';

const chart = join(root, 'deploy', 'helm', 'rms');
/** Chart of stores, and values, for trying out the chart. */
const dev = join(root, 'deploy', 'dev');
const allComponents = ['alerts', 'auth', 'cli', 'dashboard', 'gateway', 'resources', 'webhooks'];
const versions = ['1.32.0', '1.33.0', '1.34.0', '1.35.0', '1.36.0'];

let passed = 0;
let failed = 0;
try {
  const [helm, kubeconform, unittest] = ['helm', 'kubeconform', 'helm-unittest'].map(findProgram);
  const schemas = [findSchemas(), findCrdSchemas()].flatMap((location) => ['-schema-location', location]);
  const folder = join(chart, 'ci');
  const files = readdirSync(folder)
    .sort()
    .map((file) => join(folder, file));
  const tools = { helm, kubeconform, schemas };
  for (const file of [...files, join(dev, 'values.yaml')]) scenario(chart, file, tools);
  scenario(join(dev, 'stores'), join(dev, 'stores', 'values.yaml'), tools);
  check('a misspelled field is found in all versions', () => misspelled({ kubeconform, schemas }));
  check('values.schema.json describes exactly the values', compareWithSchema);
  const restarts = (...set) => restartedBy(helm, join(folder, 'default-values.yaml'), set);
  check('a changed log level restarts no pod', () => expectSame(restarts('logLevel=debug'), []));
  check('a setting of a component restarts only its pods', () =>
    expectSame(restarts('webhooks.settings.LOG_RETENTION_DAYS=60'), ['webhooks']),
  );
  check('a common setting restarts all pods', () =>
    expectSame(restarts('settings.LOG_RETENTION_DAYS=60'), allComponents),
  );
  unitTests(unittest);
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  failed += 1;
  console.log(`FAILED  ${error.message}`);
}
console.log(`${passed} passed, ${failed} failed`);
process.exitCode = failed === 0 ? 0 : 1;

function scenario(chart, file, { helm, kubeconform, schemas }) {
  const name = relative(join(root, 'deploy'), file);
  check(`${name}: lint`, () => run(helm, ['lint', '--strict', '--quiet', chart, '--values', file]));
  for (const version of versions) {
    check(`${name}: Kubernetes ${version}`, () => {
      const template = ['template', 'check', chart, '--values', file, '--kube-version', version, '--include-crds'];
      const rendered = execute(helm, template);
      if (rendered.status !== 0) return rendered.output;
      const options = ['-strict', '-kubernetes-version', version, ...schemas];
      return run(kubeconform, options, { input: rendered.stdout });
    });
  }
}

/** Checks that the schemas are found and strict; otherwise every object would pass. */
function misspelled({ kubeconform, schemas }) {
  const metadata = { name: 'x' };
  const objects = [
    { apiVersion: 'v1', kind: 'Service', metadata, spec: { prots: [] } },
    { apiVersion: 'monitoring.coreos.com/v1', kind: 'PrometheusRule', metadata, spec: { gruops: [] } },
  ];
  const blind = versions.filter((version) =>
    objects.some((object) => {
      const options = ['-strict', '-kubernetes-version', version, ...schemas];
      return !execute(kubeconform, options, { input: JSON.stringify(object) }).output.includes(
        Object.keys(object.spec)[0],
      );
    }),
  );
  return blind.length === 0 ? undefined : `not in ${blind.join(', ')}`;
}

/** Finds values without a schema, which Helm would reject, and schemas without a value, which nothing reads. */
function compareWithSchema() {
  const values = parse(readFileSync(join(chart, 'values.yaml'), 'utf8'));
  const { definitions, ...schema } = JSON.parse(readFileSync(join(chart, 'values.schema.json'), 'utf8'));
  const differences = [];
  const compare = (part, value, path) => {
    const { properties } = part.$ref ? definitions[part.$ref.replace('#/definitions/', '')] : part;
    // Values of any type, and values that are empty by default.
    if (!properties || Object.keys(value).length === 0) return;
    for (const key of new Set([...Object.keys(properties), ...Object.keys(value)])) {
      const where = [...path, key].join('.');
      if (!(key in value)) differences.push(`${where} is in the schema alone`);
      else if (!(key in properties)) differences.push(`${where} is in the values alone`);
      else if (isObject(value[key])) compare(properties[key], value[key], [...path, key]);
    }
  };
  // Helm passes `global` on to subcharts.
  const { global: _, ...properties } = schema.properties;
  compare({ properties }, values, []);
  return differences.length === 0 ? undefined : differences.join('\n');
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the components whose pods change with these values. */
function restartedBy(helm, file, set) {
  const podsWith = (...options) => {
    const { status, stdout, output } = execute(helm, ['template', 'check', chart, '--values', file, ...options]);
    if (status !== 0) throw new PrepareError(output);
    const deployments = parseAllDocuments(stdout)
      .map((document) => document.toJS())
      .filter(isDeployment);
    return new Map(
      deployments.map(({ spec }) => [
        spec.template.metadata.labels['app.kubernetes.io/component'],
        JSON.stringify(spec.template),
      ]),
    );
  };
  const [before, after] = [podsWith(), podsWith(...set.flatMap((one) => ['--set', one]))];
  return [...before.keys()].filter((name) => before.get(name) !== after.get(name)).sort();
}

function isDeployment(object) {
  return object?.kind === 'Deployment';
}

function expectSame(found, wanted) {
  return found.join() === wanted.join() ? undefined : `found: ${found.join(', ') || 'none'}`;
}

/** Runs helm-unittest; each of its tests counts. */
function unitTests(unittest) {
  const { status, output } = execute(unittest, [chart]);
  const [, bad = '0', good] = /^Tests:\s+(?:(\d+) failed, )?(?:\d+ errored, )?(\d+) passed/m.exec(output) ?? [];
  if (status === 0 && good !== undefined) {
    passed += Number(good);
    console.log(`ok      ${good} unit tests of the templates`);
    return;
  }
  passed += Number(good ?? 0);
  failed += Math.max(1, Number(bad));
  console.log(`FAILED  unit tests of the templates\n${indent(output)}`);
}

function check(name, work) {
  const problem = work();
  console.log(`${problem === undefined ? 'ok    ' : 'FAILED'}  ${name}`);
  if (problem === undefined) passed += 1;
  else {
    failed += 1;
    console.log(indent(problem));
  }
}

function run(command, args, options) {
  const { status, output } = execute(command, args, options);
  return status === 0 ? undefined : output || `${command} failed`;
}

function execute(command, args, options = {}) {
  const env = { ...process.env, NO_COLOR: '1' };
  const done = spawnSync(command, args, { encoding: 'utf8', env, maxBuffer: 64 * 1024 * 1024, ...options });
  if (done.error) throw new PrepareError(`${command} cannot be run: ${done.error.message}`);
  return { status: done.status, stdout: done.stdout, output: `${done.stdout}${done.stderr}` };
}

function indent(text) {
  return text.trimEnd().replaceAll(/^/gm, '        ');
}
