// npm run test:chart: tests the Helm chart.
//
// - Checks every scenario of ci/*.yaml with `helm lint --strict`, and validates the rendered objects against the strict
//   schemas of all supported Kubernetes versions.
// - Compares the values with their schema.
// - Renders the chart with hostile strings in all string values, and compares them with the objects.
// - Renders the charts with the options of every `helm install` and `helm upgrade` in docs.
// - Runs the unit tests of the templates.
//
// The last line is "N passed, N failed". scripts/lib/tools.mjs finds or installs the programs.
import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { checkStrings } from './lib/check-chart-strings.mjs';
import { codeBlocks } from './lib/code-blocks.mjs';
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
  checkStrings(chart, (values, release) => template(helm, values, release), check);
  documentedCommands(tools);
  check('the templates parse no text without a check', uncheckedParsing);
  check('numbers arrive without an exponent', () => expectNumbers(helm));
  const restarts = (...set) => restartedBy(helm, join(folder, 'default-values.yaml'), set);
  check('a changed log level restarts no pod', () => expectSame(restarts('logLevel=debug'), []));
  check('a setting of a component restarts only the pods that have it', () =>
    expectSame(restarts('webhooks.settings.WEBHOOK_DNS_SERVERS=10.0.0.53'), ['alerts', 'webhooks']),
  );
  check('a setting that the dashboard states also restarts its pods', () =>
    expectSame(restarts('webhooks.settings.LOG_RETENTION_DAYS=60'), ['dashboard', 'webhooks']),
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
      // Of GKE; its schema is not published.
      const options = ['-strict', '-skip', 'BackendConfig', '-kubernetes-version', version, ...schemas];
      return run(kubeconform, options, { input: rendered.stdout });
    });
  }
}

/** Renders the chart of every documented command, with the values files that its document contains. */
function documentedCommands({ helm, kubeconform, schemas }) {
  const folder = mkdtempSync(join(tmpdir(), 'rms-documented-'));
  const [newest] = versions.slice(-1);
  for (const name of ['installation.md', 'upgrading.md']) {
    const blocks = codeBlocks(readFileSync(join(root, 'docs', name), 'utf8'));
    for (const { code } of blocks.filter(({ language }) => language === 'yaml')) {
      const [, file] = /^# (\S+\.yaml)\n/.exec(code) ?? [];
      if (file) writeFileSync(join(folder, file), code);
    }
    const commands = blocks.flatMap(
      ({ code }) => code.replaceAll(/\\\n\s*/g, '').match(/^helm (install|upgrade) .*$/gm) ?? [],
    );
    for (const command of commands) {
      check(`docs/${name}: ${command}`, () => {
        const [, verb, release, path, ...given] = command.split(/\s+/);
        const options = given
          .filter((option) => !/^(--wait|--rollback-on-failure|--reset-then-reuse-values|--timeout|\d+m)$/.test(option))
          .map((option) => option.replace(/^(?!deploy|-)\S+\.yaml$/, (file) => join(folder, file)));
        // An upgrade reuses the installation's values.
        const reused = verb === 'upgrade' ? ['--values', join(chart, 'ci', 'default-values.yaml')] : [];
        const rendered = execute(helm, ['template', release, path, ...reused, ...options], { cwd: root });
        if (rendered.status !== 0) return rendered.output;
        const strict = ['-strict', '-kubernetes-version', newest, ...schemas];
        return run(kubeconform, strict, { input: rendered.stdout });
      });
    }
  }
  check('docs/installation.md: production.yaml keeps every event on three brokers and uses TLS', () => {
    const values = ['--values', join(folder, 'production.yaml')];
    const { output } = execute(helm, ['template', 'rms', chart, ...values]);
    const wanted = [/"EVENT_REPLICATION": "3"/, /"TRUSTED_PROXIES": "10/, /"secretName":"rms-ingress-tls"/];
    return expectSame(
      wanted.filter((text) => !text.test(output)),
      [],
    );
  });
  rmSync(folder, { recursive: true, force: true });
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

/** Renders the chart with an object of values. */
function template(helm, values, release) {
  // YAML does not permit these characters unescaped; JSON does.
  const text = JSON.stringify(values).replaceAll(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`;
  });
  const folder = mkdtempSync(join(tmpdir(), 'rms-chart-'));
  try {
    writeFileSync(join(folder, 'values.yaml'), text);
    return execute(helm, ['template', ...release, chart, '--values', join(folder, 'values.yaml')]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Finds calls of Helm functions that return an error as a map or as a list, so that the render would continue. */
function uncheckedParsing() {
  const folder = join(chart, 'templates');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) =>
    /\.(tpl|yaml|txt)$/.test(file),
  );
  const found = files.flatMap((file) => {
    const text = readFileSync(join(folder, file), 'utf8').replaceAll(/\{\{-? ?\/\*[\s\S]*?\*\/ ?-?\}\}/g, '');
    return [...text.matchAll(/\b(from(?:Json|Yaml|Toml)\w*)/g)].map(([, name]) => `${file}: ${name}`);
  });
  // rms.yamlToJson checks the result.
  return expectSame(found, ['_text.tpl: fromYaml']);
}

/** Numbers in places where Helm would print a float. */
function expectNumbers(helm) {
  const values = {
    existingSecret: 'rms',
    kafka: { brokers: 'kafka:9092', partitions: 1_000 },
    ingress: { enabled: false },
    image: { tag: 29_111_998 },
    settings: { MONTHLY_QUOTA: 50_000_000, BIG: Number.MAX_SAFE_INTEGER, HALF: 0.5, NONE: 0, NO: false },
    gateway: { settings: { MONTHLY_QUOTA: 0 }, replicas: 10_000_000 },
    migrations: { timeoutSeconds: 10_000_000 },
  };
  const { status, stdout, output } = template(helm, values, ['prod']);
  if (status !== 0) return output;
  const objects = parseAllDocuments(stdout).map((document) => document.toJS());
  const find = (kind, name) => objects.find((one) => one?.kind === kind && one.metadata.name === name);
  const { MONTHLY_QUOTA: common, BIG, HALF, NONE, NO, EVENT_PARTITIONS } = find('ConfigMap', 'prod-rms-webhooks').data;
  const gateway = find('Deployment', 'prod-rms-gateway').spec;
  const found = [
    ...[common, find('ConfigMap', 'prod-rms-gateway').data.MONTHLY_QUOTA, BIG, HALF, NONE, NO, EVENT_PARTITIONS],
    ...[gateway.template.spec.containers[0].image, gateway.replicas],
    find('Job', 'prod-rms-migrate').spec.activeDeadlineSeconds,
  ];
  const texts = ['50000000', '0', '9007199254740991', '0.5', '0', 'false', '1000', 'rms:29111998'];
  return expectSame(found.map(String), [...texts, '10000000', '10000000']);
}

function isObject(value) {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the components with pods that change with these values. */
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
