import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { startStandalone } from '@rms/testkit';
import { request } from 'undici';
import { openSettings } from './distributed.mjs';
import { connect } from './embedded-database.mjs';
import { memoryByProcess, quantile } from './processes.mjs';

const days = 30;
/** Rows of the deleted workspace: enough that some are left after the command and then the service are killed. */
const total = 1_000_000;
const getsPerSecond = 50;
const postsPerSecond = 20;
/**
 * The deletion runs and is suspended alternately for this long. A call that is in progress when it is suspended ends.
 */
const turnMs = 4_000;
const callMs = 2_500;
/** Attempts of a delivery, in the log's form. */
const attempts = `jsonb_build_array(jsonb_build_object(
  'number', 1, 'at', at, 'status_code', 200, 'error', '', 'duration_ms', 12, 'dns_ms', 0.4, 'connect_ms', 1.2,
  'tls_ms', 3.1, 'first_byte_ms', 7.4, 'address', '203.0.113.9',
  'request_headers', '[["content-type","application/json"],["webhook-signature","v1,${'x'.repeat(44)}"]]'::jsonb,
  'response_headers', '[["content-type","text/plain"],["content-length","2"]]'::jsonb, 'response_body', 'ok'))`;

/**
 * Measures `rms workspaces delete --purge` under `npm start`: duration, memory, and the latency of another workspace's
 * requests while the deletion runs and while it is suspended, alternately. The command and then the service are killed,
 * and the command is run again.
 */
export async function run() {
  const shape = await startStandalone({ env: openSettings });
  let other;
  try {
    const create = async (name) => {
      const { id } = await shape.rms('workspaces', 'create', '--name', name);
      const options = ['--workspace', id, '--environment', 'live', '--scope', 'admin', '--name', 'bench'];
      return { id, key: (await shape.rms('keys', 'create', ...options)).key };
    };
    const deleted = await create('deleted');
    const seeded = await seed(shape, deleted.id, total);
    other = startClient(shape, (await create('other')).key);
    await other.warmUp();
    const memoryBefore = memoryOf(shape.pid);

    const remove = () => startCommand(shape, 'workspaces', 'delete', deleted.id, '--purge', '--confirm', 'deleted');
    const memory = [];
    const sampler = setInterval(() => memory.push(memoryOf(shape.pid)), 500);
    const command = remove();
    await command.progress();
    command.kill();
    await command.ended;
    const afterCommand = await rowsOf(shape, deleted.id);
    const second = remove();
    await second.progress();
    clearInterval(sampler);
    await shape.kill();
    await second.ended;
    await shape.restart();
    const afterService = await rowsOf(shape, deleted.id);
    const resampler = setInterval(() => memory.push(memoryOf(shape.pid)), 500);
    await other.warmUp();
    const third = remove();
    const runningMs = await alternate(third, other);
    clearInterval(resampler);
    const code = await third.ended;
    if (code !== 0) throw new Error(`the command ended with ${code}: ${third.output()}`);
    await other.stop();
    const remaining = await rowsOf(shape, deleted.id);
    const peak = (field) => Math.max(...memory.map((sample) => sample[field]));
    return {
      about: `rms workspaces delete --purge of ${seeded} rows under npm start; milliseconds of another workspace's requests`,
      rows: [
        ...other.rows(),
        { when: 'memory before', 'node MB': memoryBefore.node, 'PostgreSQL MB': memoryBefore.postgres },
        { when: 'memory, peak', 'node MB': peak('node'), 'PostgreSQL MB': peak('postgres') },
        { when: 'command, peak', 'node MB': third.peakMb() },
      ],
      goals: [
        { goal: 'rows per second', measured: Math.round(afterService / (runningMs / 1_000)), met: true },
        { goal: 'rows left after the command was killed', measured: afterCommand, met: afterCommand < seeded },
        { goal: 'rows left after the service was killed', measured: afterService, met: afterService < afterCommand },
        { goal: 'rows left at the end', measured: remaining, met: remaining === 0 },
      ],
    };
  } finally {
    await other?.stop();
    await shape.stop();
  }
}

/** Alternately suspends and continues a command until it ends. Returns how long its calls ran. */
async function alternate(command, other) {
  let isRunning = true;
  command.ended.then(() => {
    isRunning = false;
  });
  let runningMs = 0;
  while (isRunning) {
    const startedAtMs = performance.now();
    other.phase('deletion running');
    await Promise.race([delay(turnMs), command.ended]);
    other.phase(undefined);
    command.suspend();
    await Promise.race([delay(callMs), command.ended]);
    runningMs += performance.now() - startedAtMs;
    if (!isRunning) break;
    other.phase('deletion suspended');
    await delay(turnMs);
    other.phase(undefined);
    command.continue();
  }
  return runningMs;
}

const tables = [
  'resources.resources',
  'webhooks.events',
  'webhooks.delivery_log',
  'webhooks.deliveries',
  'auth.requests',
];

/** Returns the number of rows of a workspace in the seeded tables. */
async function rowsOf(shape, workspaceId) {
  const client = await connect(shape);
  const counts = tables.map((table) => `(select count(*) from ${table} where workspace_id = $1)`).join(' + ');
  const { rows } = await client.query(`select ${counts} as rows`, [workspaceId]);
  await client.end();
  return Number(rows[0].rows);
}

/** Fills a workspace: of 100 rows, 15 are resources, 35 events, 35 logged and 1 queued deliveries, and 14 requests. */
async function seed(shape, workspaceId, total) {
  const client = await connect(shape);
  const count = (percent) => Math.floor((total * percent) / 100);
  const id = (prefix, number) => `webhooks.first_id('${prefix}', at) || lpad((${number})::text, 16, '0')`;
  const series = (rows) =>
    `(select i, now() - interval '${days - 1} days' * (1 - i / ${rows}::float8) as at
        from generate_series(1, ${rows}) as i) as series`;
  await client.query(`set session_replication_role = replica`);
  for (const schema of ['webhooks', 'auth']) {
    await client.query(`select ${schema}.make_partitions((now() at time zone 'UTC')::date - ${days},
                                                         (now() at time zone 'UTC')::date + 1)`);
  }
  await client.query(
    `insert into resources.resources (workspace_id, environment, id, status, name, metadata, input_type, created_at,
                                      updated_at, sequence)
     select $1, 'live', ${id('res', 'i')}, 'active', 'Resource ' || i, '{"color":"red","size":"large"}', 'default', at, at, 2
       from ${series(count(15))}`,
    [workspaceId],
  );
  await client.query(
    `insert into webhooks.events (workspace_id, environment, id, position, type, resource_id, sequence, request_id,
                                  traceparent, body, created_at)
     select $1, 'live', ${id('evt', 'i')}, i, 'resource.updated', 'res_' || lpad((i / 2)::text, 26, '0'), 1,
            'req_' || i, '', convert_to(repeat('x', 380), 'utf8'), at
       from ${series(count(35))}`,
    [workspaceId],
  );
  await client.query(
    `insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                        request_id, status, origin, attempts, created_at)
     select $1, 'live', ${id('dlv', 'i')}, ${id('evt', 'i')}, 'wh_' || lpad((i % 3)::text, 26, '0'), 'resource.updated',
            'res_' || lpad((i / 2)::text, 26, '0'), 'req_' || i, 'delivered', 'event', ${attempts}, at
       from ${series(count(35))}`,
    [workspaceId],
  );
  await client.query(
    `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                      sequence, request_id, attempts, due_at, created_at)
     select $1, 'live', ${id('dlv', `i + ${total}`)}, ${id('evt', 'i')}, 'wh_' || lpad((i % 3)::text, 26, '0'),
            'resource.updated', 'res_' || lpad((i / 2)::text, 26, '0'), 1, 'req_' || i, ${attempts},
            now() + interval '1 day', at
       from ${series(count(1))}`,
    [workspaceId],
  );
  await client.query(
    `insert into auth.requests (workspace_id, environment, request_id, started_at, trace_id, method, route, status,
                                error_code, key_id, replayed, duration_ms)
     select $1, 'live', 'req_' || i, at, '', 'GET', '/v1/resources/:id', 200, '', 'key_' || lpad('1', 26, '0'), false, 3
       from ${series(count(14))}`,
    [workspaceId],
  );
  await client.query(
    `insert into resources.resource_counts (workspace_id, environment, status, shard, count)
     values ($1, 'live', 'active', 0, $2)`,
    [workspaceId, count(15)],
  );
  await client.query('vacuum analyze');
  await client.query('checkpoint');
  await client.end();
  return rowsOf(shape, workspaceId);
}

/** Sends the requests of another workspace at a constant rate, whether or not earlier ones are complete. */
function startClient({ liveUrl }, key) {
  const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
  const samples = new Map();
  let phase;
  let last;
  const send = async (method, path, body) => {
    const at = phase;
    const startedAtMs = performance.now();
    const { statusCode, body: stream } = await request(liveUrl + path, { method, headers, body });
    const text = await stream.text();
    if (statusCode >= 300) throw new Error(`${method} ${path} returned ${statusCode}: ${text}`);
    if (method === 'POST') last = JSON.parse(text).data.id;
    if (at === undefined || phase !== at) return;
    const name = `${method}, ${at}`;
    samples.set(name, [...(samples.get(name) ?? []), performance.now() - startedAtMs]);
  };
  const post = () => send('POST', '/v1/resources', JSON.stringify({ name: 'bench', metadata: { color: 'red' } }));
  let errors = 0;
  const countErrors = (send) => {
    const at = phase;
    if (at === undefined) return;
    send().catch((error) => {
      // The requests in flight when the service is killed fail.
      if (phase !== at) return;
      errors++;
      console.error(error.message);
    });
  };
  const get = () => send('GET', `/v1/resources/${last}`);
  const posts = setInterval(countErrors, 1_000 / postsPerSecond, post);
  const gets = setInterval(countErrors, 1_000 / getsPerSecond, get);
  return {
    phase(name) {
      phase = name;
    },
    async warmUp() {
      for (let i = 0; i < 200; i++) {
        await post();
        await get();
      }
    },
    async stop() {
      clearInterval(posts);
      clearInterval(gets);
    },
    rows: () => [
      ...[...samples].sort().map(([when, values]) => ({
        when,
        requests: values.length,
        'p50 ms': quantile(values, 0.5),
        'p99 ms': quantile(values, 0.99),
        'max ms': Math.max(...values),
      })),
      { when: 'failed requests', requests: errors },
    ],
  };
}

function startCommand({ env }, ...args) {
  const child = spawn(process.execPath, [join(import.meta.dirname, '..', '..', 'cli', 'src', 'main.ts'), ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let output = '';
  let peak = 0;
  child.stderr.on('data', (data) => {
    output += data;
  });
  const sampler = setInterval(() => {
    peak = Math.max(peak, ...memoryByProcess(child.pid).map(({ rssMb }) => rssMb));
  }, 500);
  const ended = once(child, 'exit').then(([code]) => {
    clearInterval(sampler);
    return code;
  });
  return {
    kill: () => child.kill('SIGKILL'),
    suspend: () => child.kill('SIGSTOP'),
    continue: () => child.kill('SIGCONT'),
    output: () => output,
    /** Resolves at the first line of progress, about two seconds after the start, or when the command ends. */
    progress: () => Promise.race([once(child.stderr, 'data'), ended]),
    peakMb: () => peak,
    ended,
  };
}

function memoryOf(pid) {
  const sumOf = (processes) => processes.reduce((total, { pssMb }) => total + pssMb, 0);
  const all = memoryByProcess(pid);
  return {
    node: sumOf(all.filter(({ name }) => name === 'node')),
    postgres: sumOf(all.filter(({ name }) => name !== 'node')),
  };
}
