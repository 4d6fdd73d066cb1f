// npm run test:cluster [-- arguments of jest]: installs the chart in the cluster of KUBECONFIG and tests it.
//
//   IMAGE               an image that the cluster can use; if unset, the image is built (npm run image) and loaded
//   IMAGE_LOAD          command that loads an image into the cluster; the name is appended: "kind load docker-image"
//   TEST_HOST_ADDRESS   address of this machine for pods; PostgreSQL, Redis and Kafka are then started here
//   TEST_DATABASE_URL, TEST_REDIS_URL, TEST_KAFKA_BROKERS   existing servers instead, with addresses for pods
//   TEST_INGRESS_URL    URL of the ingress controller; default: the address in the Ingress status
//   TEST_INGRESS_SOURCES  source CIDRs of the ingress, "a,b"; their X-Forwarded-For is trusted
//   TEST_CLIENT_NETWORK   source CIDR of this machine at the ingress; default 127.0.0.0/8
//
// CONTRIBUTING.md describes its effects on the cluster. The last line is "N passed, N failed".
import { spawnSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { cannotRun } from './lib/cannot-run.mjs';
import { PrepareError, prepare, root } from './lib/prepare.mjs';
import { summary } from './lib/test-result.mjs';
import { runTests } from './lib/test-run.mjs';

let run;
try {
  prepare({ development: true });
  checkCluster();
  process.env.IMAGE ||= buildImage();
  run = await runTests(['-i', ...process.argv.slice(2)], { config: 'test/cluster/jest.config.mjs' });
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  process.exit(cannotRun('cluster', error.message));
}
const { lines, failed } = summary(run);
console.log(`\n${lines.join('\n')}`);
process.exit(failed ? 1 : 0);

/** Requires an explicit KUBECONFIG, because the tests create namespaces and send load. */
function checkCluster() {
  if (!process.env.KUBECONFIG) throw new PrepareError('KUBECONFIG is not set. Set it to the cluster to test in.');
  for (const [tool, ...args] of [
    ['helm', 'version', '--short'],
    ['kubectl', 'version', '--output=json'],
  ]) {
    const { status: code, stderr, error } = spawnSync(tool, args, { encoding: 'utf8', timeout: 30_000 });
    if (error) throw new PrepareError(`${tool} cannot be run: ${error.message}`);
    if (code !== 0) throw new PrepareError(`${tool} ${args[0]}: ${stderr.trim()}`);
  }
}

/** Builds the image, loads it into the cluster, and returns its name. */
function buildImage() {
  const [load, ...args] = (process.env.IMAGE_LOAD ?? '').split(' ').filter(Boolean);
  if (!load) {
    throw new PrepareError('set IMAGE_LOAD (e.g. "kind load docker-image"), or IMAGE to an image that the cluster has');
  }
  const name = `localhost/rms:test-${randomBytes(4).toString('hex')}`;
  const env = { ...process.env, IMAGE: name };
  /** @type {[string, string[]][]} */
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
