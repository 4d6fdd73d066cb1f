import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { generateApiKey } from '@rms/base/api-key';
import { freePort } from '@rms/testkit';
import { startBaseline } from './baseline/start.mjs';
import { startDistributed } from './distributed.mjs';
import { load } from './load.mjs';
import { measure, median, quantile, sum } from './processes.mjs';

const connections = 32;

/**
 * Measures the cost that authentication, limits and revocation add to a GET by id, against the same gateway without
 * them, and how fast one gateway rejects requests, against an Express process that does nothing else. Rounds
 * alternate.
 */
export async function run({ quick }) {
  const rounds = quick ? 2 : 5;
  const count = quick ? 2_000 : 6_000;
  // Disables the limit on failed authentications, so that every wrong key gets a 401.
  const shape = await startDistributed({ AUTH_FAILURE_LIMIT: '0' });
  const baseline = await startBaseline(await shape.createDatabase());
  const limited = await startGateway(shape, 'limited', { AUTH_FAILURE_LIMIT: '1' });
  const { data: workspaces } = await shape.rms('workspaces', 'list');
  const open = await startGateway(shape, 'open', { OPEN_WORKSPACE_ID: workspaces[0].id });
  const unlogged = await startGateway(shape, 'unlogged', { REQUEST_LOG: 'none' });
  try {
    const newKey = async (...options) =>
      (await shape.rms('keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'bench', ...options))
        .key;
    const key = await newKey();
    const slow = await newKey('--rate-limit', '1');
    const id = await makeResource(shape.liveUrl, key);
    const stores = {
      auth: shape.pids.auth,
      resources: shape.pids.resources,
      postgres: shape.pids.postgres,
      redis: shape.pids.redis,
    };
    const real = { url: shape.liveUrl, pids: { gateway: shape.pids.gateway, ...stores } };
    const get = { path: `/v1/resources/${id}`, key, status: 200 };
    const bare = { url: baseline.url, pids: { gateway: baseline.pid } };
    const contenders = {
      'GET protected': { ...real, ...get },
      'GET protected, no request log': { url: unlogged.url, pids: { gateway: unlogged.pid, ...stores }, ...get },
      'GET open': { url: open.url, pids: { gateway: open.pid, ...stores }, ...get },
      '401 unknown keys': { ...real, path: '/v1/resources', key: () => generateApiKey('live'), status: 401 },
      '401 one wrong key': { ...real, path: '/v1/resources', key: generateApiKey('live'), status: 401 },
      '401 no key': { ...real, path: '/v1/resources', key: undefined, status: 401 },
      '429 over its rate': { ...real, path: '/v1/resources', key: slow, status: [429, 200] },
      '429 address refused': {
        url: limited.url,
        pids: { gateway: limited.pid, ...stores },
        path: '/v1/resources',
        key: () => generateApiKey('live'),
        // Once a minute, a wrong key gets 401. Likewise, the key over its rate gets 200 once a minute.
        status: [429, 401],
      },
      'Express 401': { ...bare, path: '/refused/401', key: undefined, status: 401 },
      'Express 429': { ...bare, path: '/refused/429', key: undefined, status: 429 },
    };
    await spend(contenders);
    const samples = Object.fromEntries(Object.keys(contenders).map((name) => [name, []]));
    for (const contender of Object.values(contenders)) await measureRound(contender, count);
    for (let round = 0; round < rounds; round++) {
      for (const [name, contender] of Object.entries(contenders))
        samples[name].push(await measureRound(contender, count));
    }
    return report(samples);
  } finally {
    await Promise.all([open.stop(), unlogged.stop(), limited.stop()]);
    await baseline.stop();
    await shape.stop();
  }
}

async function makeResource(url, key) {
  const response = await fetch(`${url}/v1/resources`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
    body: JSON.stringify({ name: 'bench' }),
  });
  return JSON.parse(await response.text()).data.id;
}

/** Exhausts the limits of contenders that measure 429 responses. */
async function spend(contenders) {
  for (const name of ['429 over its rate', '429 address refused']) {
    const { url, path, key } = contenders[name];
    for (let i = 0; i < 3; i++)
      await fetch(url + path, { headers: headersOf(key) }).then((response) => response.text());
  }
}

function headersOf(key) {
  if (key === undefined) return {};
  return { authorization: `Bearer ${typeof key === 'function' ? key() : key}` };
}

async function measureRound({ url, pids, path, key, status }, count) {
  const { result, seconds, cpu } = await measure(pids, () =>
    load({
      url,
      connections,
      count,
      expect: status,
      request: () => ({ method: 'GET', path, headers: headersOf(key) }),
    }),
  );
  const scaled = Object.fromEntries(Object.entries(cpu).map(([name, value]) => [name, (value / count) * 1_000]));
  return { perSecond: count / seconds, cpu: scaled, total: sum(scaled), p50: quantile(result.latenciesMs, 0.5) };
}

function report(samples) {
  const middle = (name, field) => median(samples[name].map((sample) => sample[field]));
  const rows = Object.keys(samples).map((name) => ({
    what: name,
    'requests/s': Math.round(middle(name, 'perSecond')),
    'p50 ms': middle(name, 'p50'),
    'CPU-s/1000': middle(name, 'total'),
    ...Object.fromEntries(
      Object.keys(samples[name][0].cpu).map((part) => [part, median(samples[name].map(({ cpu }) => cpu[part]))]),
    ),
  }));
  const ratio = (one, other, field) =>
    median(samples[one].map((sample, i) => sample[field] / samples[other][i][field]));
  const informational = (goal, measured) => ({ goal, measured, met: true });
  return {
    about: `${connections} connections, CPU-seconds per 1,000 requests by process; the client generates the keys for "unknown keys"`,
    rows,
    goals: [
      ...['GET protected', 'GET protected, no request log'].flatMap((name) => [
        informational(`${name}, CPU, ratio to open`, ratio(name, 'GET open', 'total')),
        informational(`${name}, p50, ratio to open`, ratio(name, 'GET open', 'p50')),
      ]),
      ...['401 unknown keys', '401 one wrong key', '401 no key'].map((name) =>
        informational(`${name}, requests/s, ratio to bare Express`, ratio(name, 'Express 401', 'perSecond')),
      ),
      ...['429 over its rate', '429 address refused'].map((name) =>
        informational(`${name}, requests/s, ratio to bare Express`, ratio(name, 'Express 429', 'perSecond')),
      ),
    ],
  };
}

/** Starts another gateway in a separate process, next to the shape's gateway. */
async function startGateway(shape, kind, env) {
  const main =
    kind === 'open'
      ? join(import.meta.dirname, 'open-gateway.ts')
      : join(import.meta.dirname, '..', '..', 'services', 'gateway', 'src', 'main.ts');
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const child = fork(main, {
    env: { PATH: process.env.PATH, ...shape.env, PORT: `${port}`, SANDBOX_PORT: `${await freePort()}`, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  while (
    !(await fetch(`${url}/livez`).then(
      (response) => response.ok,
      () => false,
    ))
  ) {
    if (child.exitCode !== null) throw new Error(`the ${kind} gateway exited with code ${child.exitCode}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return {
    url,
    pid: child.pid,
    async stop() {
      if (child.exitCode !== null) return;
      const ended = once(child, 'exit');
      child.kill('SIGTERM');
      await ended;
    },
  };
}
