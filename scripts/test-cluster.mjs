// npm run test:cluster [-- jest's arguments]: installs the chart into the cluster of KUBECONFIG, and tests it there.
//
//   IMAGE               an image that the cluster has or can pull; without it one is built (npm run image) and loaded
//   IMAGE_LOAD          the command that puts an image into the cluster, its name is appended: "kind load docker-image"
//   TEST_HOST_ADDRESS   an address of this machine that pods reach, for PostgreSQL, Redis and Kafka that are started here
//   TEST_DATABASE_URL, TEST_REDIS_URL, TEST_KAFKA_BROKERS   or ones that are there, as pods reach them
//   TEST_INGRESS_URL    where the ingress controller listens; without it the address in the status of the Ingress
//   TEST_INGRESS_SOURCES  CIDRs from which its requests come, "a,b": their X-Forwarded-For is believed
//   TEST_CLIENT_NETWORK   the CIDR that this machine's requests come from, as the ingress sees it; default 127.0.0.0/8
//
// docs/operations.md says what it does to the cluster. Its last line says how many tests passed and failed.
import { spawn, spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PrepareError, prepare, root } from './lib/prepare.mjs';
import { readResult, summary } from './lib/test-result.mjs';

const folder = mkdtempSync(join(tmpdir(), 'rms-test-cluster-'));
let status = 1;
let result;
try {
  prepare({ development: true });
  checkCluster();
  const IMAGE = process.env.IMAGE || buildImage();
  status = await runJest({ ...process.env, IMAGE });
  result = readResult(join(folder, 'result.json'));
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  process.stderr.write(`test:cluster: ${error.message}\n`);
} finally {
  rmSync(folder, { recursive: true, force: true });
}
const { lines, skipped } = summary(result);
if (status === 0 && skipped > 0 && process.env.CI === 'true') {
  lines.unshift('Nothing may be skipped with CI=true: this run has failed.');
  status = 1;
}
console.log(`\n${lines.join('\n')}`);
process.exit(status);

/** Only a cluster that was named on purpose: namespaces are made and load is sent. */
function checkCluster() {
  if (!process.env.KUBECONFIG) throw new PrepareError('KUBECONFIG is not set; it says which cluster to test in');
  for (const [tool, ...args] of [
    ['helm', 'version', '--short'],
    ['kubectl', 'version', '--output=json'],
  ]) {
    const { status: code, stderr, error } = spawnSync(tool, args, { encoding: 'utf8', timeout: 30_000 });
    if (error) throw new PrepareError(`${tool} cannot be run: ${error.message}`);
    if (code !== 0) throw new PrepareError(`${tool} ${args[0]}: ${stderr.trim()}`);
  }
}

/** Builds the image and puts it into the cluster; answers with its name. */
function buildImage() {
  const [load, ...args] = (process.env.IMAGE_LOAD ?? '').split(' ').filter(Boolean);
  if (!load) {
    throw new PrepareError('set IMAGE_LOAD (e.g. "kind load docker-image"), or IMAGE to an image that the cluster has');
  }
  const name = `localhost/rms:test-${randomBytes(4).toString('hex')}`;
  const env = { ...process.env, IMAGE: name };
  const steps = [
    [process.execPath, [join(root, 'scripts', 'image.mjs')]],
    [load, [...args, name]],
  ];
  for (const [command, options] of steps) {
    const { status: code, error } = spawnSync(command, options, { cwd: root, env, stdio: ['ignore', 2, 2] });
    if (error || code !== 0) throw new PrepareError(`${command} failed${error ? `: ${error.message}` : ', see above'}`);
  }
  return name;
}

/** Resolves to jest's exit code. */
async function runJest(env) {
  const jest = join(root, 'node_modules', 'jest', 'bin', 'jest.js');
  const node = ['--experimental-vm-modules', '--disable-warning=ExperimentalWarning', '--disable-warning=DEP0040'];
  const report = ['--json', `--outputFile=${join(folder, 'result.json')}`];
  const config = ['--config', join(root, 'test', 'cluster', 'jest.config.js'), '--runInBand'];
  const child = spawn(process.execPath, [...node, jest, ...config, ...report, ...process.argv.slice(2)], {
    cwd: root,
    env,
    stdio: ['inherit', 'ignore', 'inherit'],
  });
  // A Ctrl-C reaches jest by itself; this process lives on until it has ended.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  const [code] = await once(child, 'exit');
  return code ?? 1;
}
