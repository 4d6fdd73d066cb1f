// npm run test:clients: generates clients from the OpenAPI document with the generators that our users use, compiles
// them, and calls a service (npm start) with two of them: create, list, webhook, and event feed with an erased event.
// Runs the tests of clients/python, and clients/typescript on runtimes besides Node, against the same service.
//
// A check with missing programs is named and does not count. The last line is "N passed, N failed".
import { deepEqual } from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { json } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { cannotRun } from './lib/cannot-run.mjs';
import { compileScenario, generators, MissingProgram } from './lib/client-generators.mjs';
import { prepareProject, runtimes } from './lib/client-runtimes.mjs';
import { PrepareError, prepare, root } from './lib/prepare.mjs';
import { execute } from './lib/tools.mjs';

const scenarios = join(root, 'scripts', 'clients');
/** Time limit of a scenario, in case it hangs. */
const maxMs = 120_000;
/** Time limit per step of the tests of clients/python. */
const maxClientMs = 300_000;
/** Age of a request that verifyWebhook rejects. */
const staleMs = 400_000;

const folder = mkdtempSync(join(tmpdir(), 'rms-clients-'));
let passed = 0;
let failed = 0;
try {
  prepare({ development: true });
  const document = join(folder, 'openapi.json');
  writeFileSync(document, execute(process.execPath, [join(root, 'services/gateway/src/openapi/print-main.ts')]));
  const clients = new Map();
  for (const [name, generate] of Object.entries(generators)) {
    const target = join(folder, name.replaceAll(/[ ,]+/g, '-'));
    mkdirSync(target);
    const work = () => generate(document, target);
    if (await check(name, work)) clients.set(name, target);
  }
  await callService(clients);
  console.log(`${passed} passed, ${failed} failed`);
  process.exitCode = failed === 0 ? 0 : 1;
} catch (error) {
  if (!(error instanceof PrepareError)) throw error;
  process.exitCode = cannotRun('clients', error.message);
} finally {
  rmSync(folder, { recursive: true, force: true });
}

/** Runs the scenario with each generated client, and the checks of our own clients, against one service. */
async function callService(clients) {
  const programs = {
    'openapi-generator python': (target) => [join(target, '.venv', 'bin', 'python'), join(scenarios, 'scenario.py')],
    'openapi-generator typescript-fetch': (target) => {
      const project = join(folder, 'scenario');
      cpSync(target, join(project, 'client'), { recursive: true });
      cpSync(join(scenarios, 'scenario.ts'), join(project, 'scenario.ts'));
      return [process.execPath, compileScenario(join(project, 'scenario.ts'), project)];
    },
  };
  const chosen = Object.entries(programs).filter(([name]) => clients.has(name));
  const { makeCertificates, startStandalone, waitUntil } = await import('../packages/testkit/src/index.ts');
  const authority = makeCertificates(join(folder, 'certificates'));
  const receiver = await startReceiver(authority.issue('receiver'));
  const service = await startStandalone({
    env: {
      WEBHOOK_CA_FILE: authority.caFile,
      WEBHOOK_ALLOW_CIDRS: '127.0.0.0/8',
      WEBHOOK_ALLOW_HTTP: 'true',
      ERASE_ON_DELETE: 'true',
    },
  });
  try {
    const { key } = await service.rms(
      'keys',
      'create',
      '--environment',
      'sandbox',
      '--scope',
      'admin',
      '--name',
      'own',
    );
    await check('clients/python: types, tests and README', () => testPythonClient(service.sandboxUrl, key));
    const project = join(folder, 'runtimes');
    mkdirSync(project);
    if (await check('clients/typescript: packed, installed, compiled', () => prepareProject(project))) {
      for (const name of Object.keys(runtimes)) {
        const work = () => testRuntime(name, project, { url: service.sandboxUrl, key });
        await check(`clients/typescript on ${name}: calls, feed, errors, webhooks`, work);
      }
    }
    for (const [name, program] of chosen) {
      await check(`${name}: create, list, webhook, feed`, async () => {
        const [command, script] = program(clients.get(name));
        const newKey = ['keys', 'create', '--environment', 'live', '--scope', 'admin'];
        const { key } = await service.rms(...newKey, '--name', name);
        const args = [script, service.liveUrl, key, receiver.url];
        const { stdout } = await promisify(execFile)(command, args, { timeout: maxMs });
        const id = stdout.trim();
        await waitUntil(() => receiver.events.some(({ data }) => data.object.id === id), {
          what: `the event of ${id}`,
        });
      });
    }
  } finally {
    await service.stop();
    receiver.server.close();
  }
}

/** Installs clients/python, and runs mypy and its tests against the service. */
async function testPythonClient(url, key) {
  const venv = join(folder, 'python');
  const client = join(root, 'clients', 'python');
  const run = (command, ...args) =>
    promisify(execFile)(command, args, {
      cwd: client,
      // Leaves no files in the checkout.
      env: { ...process.env, RMS_URL: url, RMS_API_KEY: key, PYTHONDONTWRITEBYTECODE: '1' },
      timeout: maxClientMs,
    }).catch((error) => {
      throw error.code === 'ENOENT'
        ? new MissingProgram(`${command} is missing`)
        : new Error(error.stdout + error.stderr);
    });
  await run('python3', '-m', 'venv', venv);
  const python = join(venv, 'bin', 'python');
  await run(python, '-m', 'pip', 'install', '--quiet', '--disable-pip-version-check', `${client}[test]`);
  await run(python, '-m', 'mypy', '--cache-dir', join(folder, 'mypy'));
  await run(python, '-m', 'pytest', '--quiet');
}

/** Runs the client in a server on a runtime: it calls the API, and receives the webhook of its resource. */
async function testRuntime(name, project, { url, key }) {
  const { freePort, programEnv, startProgram, waitUntil } = await import('../packages/testkit/src/index.ts');
  const { deliveryHeaders, toSigningSecret } = await import('../packages/base/src/signature/index.ts');
  const port = await freePort();
  const own = `http://127.0.0.1:${port}`;
  const request = (path, init = {}) => fetch(own + path, { ...init, signal: AbortSignal.timeout(maxMs) });
  const [command, ...args] = runtimes[name](port, project);
  const program = await startProgram({
    ...{ name, command, args, cwd: project, outputFile: join(project, `${name}.log`) },
    env: programEnv({ DENO_DIR: join(project, 'deno'), DENO_NO_UPDATE_CHECK: '1' }),
    ready: async () => (await request('/received')).ok,
  });
  try {
    const scenario = await request('/scenario', { method: 'POST', body: JSON.stringify({ url, key, own }) });
    if (!scenario.ok) throw new Error(await scenario.text());
    const { id, secret } = /** @type {{ id: string, secret: string }} */ (await scenario.json());
    const hasReceived = async () => /** @type {string[]} */ (await (await request('/received')).json()).includes(id);
    await waitUntil(hasReceived, { what: `the event of ${id}` });
    const body = Buffer.from('{}');
    const sign = (timeMs) =>
      deliveryHeaders(
        { current: toSigningSecret(secret), previous: undefined },
        { eventId: 'evt_1', requestId: '', traceparent: '', body },
        timeMs,
      );
    const send = async (headers, sent) => {
      const response = await request('/hook', { method: 'POST', headers, body: sent });
      return `${response.status} ${await response.text()}`;
    };
    const responses = [
      await send(sign(Date.now()), body),
      await send(sign(Date.now()), '{ }'),
      await send(sign(Date.now() - staleMs), body),
    ];
    deepEqual(responses, [
      '200 ',
      '401 no signature in webhook-signature is of a known secret',
      '401 webhook-timestamp is not a time within the tolerance',
    ]);
  } finally {
    await program.terminate();
  }
}

/** Starts an HTTPS endpoint of webhooks: generated clients accept no other URL. */
async function startReceiver({ certFile, keyFile }) {
  const events = [];
  const server = createServer(
    { cert: readFileSync(certFile), key: readFileSync(keyFile) },
    async (request, response) => {
      events.push(await json(request));
      response.end();
    },
  );
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  return { server, events, url: `https://127.0.0.1:${port}/hook` };
}

/** Runs a check and prints its result. Returns whether it has passed. */
async function check(name, work) {
  try {
    await work();
  } catch (error) {
    if (error instanceof MissingProgram) console.log(`not run  ${name}: ${error.message}`);
    else {
      failed += 1;
      console.log(`FAILED   ${name}\n${error.message.trim().replaceAll(/^/gm, '         ')}`);
    }
    return false;
  }
  passed += 1;
  console.log(`ok       ${name}`);
  return true;
}
