import pg from 'pg';
import { readDue } from '../../services/webhooks/src/engine/lease/schedule-queries.ts';
import { startDistributed } from './distributed.mjs';
import { openPublisher } from './events.mjs';
import { latencies } from './pace.mjs';
import { measure, median, quantile, sum } from './processes.mjs';
import { startBenchReceiver } from './start-receiver.mjs';
import { createWebhook } from './webhook.mjs';

const perSecond = 50;
const nothing = { webhookIds: [], workspaceIds: [] };

/**
 * Measures the cost of webhooks with one retry each that is not yet due: the CPU of the idle service and its
 * PostgreSQL, a poll's time, and a healthy webhook's latency, from publishing an event to its arrival. The
 * numbers of webhooks alternate.
 */
export async function run({ quick }) {
  const numbers = quick ? [1_000, 10_000] : [1_000, 10_000, 100_000];
  const rounds = quick ? 1 : 3;
  const idleSeconds = quick ? 5 : 20;
  const healthySeconds = quick ? 5 : 12;
  const shape = await startDistributed({}, { fsync: 'off' });
  const receiver = await startBenchReceiver();
  const publisher = await openPublisher(shape.env);
  const db = new pg.Client({ connectionString: shape.env.DATABASE_URL });
  await db.connect();
  try {
    const { key } = await shape.rms('keys', 'create', '--environment', 'live', '--scope', 'admin', '--name', 'bench');
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const { data: workspaces } = await shape.rms('workspaces', 'list');
    await createWebhook(shape.liveUrl, headers, receiver.url);
    const healthy = (seconds) => latencies(publisher, receiver, workspaces[0].id, { perSecond, seconds });
    const { webhooks, postgres } = shape.pids;
    const found = new Map(numbers.map((number) => [number, { idle: [], polls: [], waits: [] }]));
    await healthy(healthySeconds); // warm-up
    for (let round = 0; round < rounds; round++) {
      for (const number of numbers) {
        await fill(db, number);
        const { idle, polls, waits } = found.get(number);
        const { cpu, seconds } = await measure({ webhooks, postgres }, () => pause(idleSeconds));
        idle.push((sum(cpu) / seconds) * 100);
        for (let i = 0; i < 200; i++) {
          const startedAtMs = performance.now();
          await readDue(db, nothing, 100);
          if (i >= 20) polls.push(performance.now() - startedAtMs);
        }
        waits.push(await healthy(healthySeconds));
      }
    }
    const rows = numbers.map((number) => {
      const { idle, polls, waits } = found.get(number);
      return {
        webhooks: number,
        'idle, % of a core': median(idle),
        'poll p50 ms': quantile(polls, 0.5),
        'poll p99 ms': quantile(polls, 0.99),
        'healthy p50 ms': median(waits.map((round) => quantile(round, 0.5))),
        'healthy p99 ms': median(waits.map((round) => quantile(round, 0.99))),
      };
    });
    const [first, last] = [rows[0], rows.at(-1)];
    const ratio = last['healthy p99 ms'] / first['healthy p99 ms'];
    return {
      about: 'webhooks that each have one retry that is not yet due',
      rows,
      goals: [
        { goal: 'idle ≤ 2 % of a core', measured: last['idle, % of a core'], met: last['idle, % of a core'] <= 2 },
        { goal: 'poll p50 ≤ 2 ms', measured: last['poll p50 ms'], met: last['poll p50 ms'] <= 2 },
        { goal: `healthy p99, ${last.webhooks} to ${first.webhooks} ≤ 1.2×`, measured: ratio, met: ratio <= 1.2 },
      ],
    };
  } finally {
    await db.end();
    await publisher.close();
    receiver.stop();
    await shape.stop();
  }
}

/** Replaces the waiting webhooks: this many, a thousand per workspace, each with a retry that is due in a day. */
async function fill(db, webhooks) {
  for (const table of ['deliveries', 'endpoints']) {
    await db.query(`delete from webhooks.${table} where workspace_id like 'ws_bench%'`);
  }
  await db.query(`delete from webhooks.webhooks where workspace_id like 'ws_bench%'`);
  await db.query(
    `insert into webhooks.webhooks (workspace_id, environment, id, url, events, status, secret_sealed,
                                    max_retries, initial_delay_ms, max_delay_ms, created_at, updated_at)
     select 'ws_bench' || i / 1000, 'live', 'wh_' || lpad(i::text, 26, '0'), 'https://example.com/' || i, array['*'],
            'active', 'x', 5, 60000, 43200000, now(), now()
       from generate_series(1, $1) as i`,
    [webhooks],
  );
  await db.query(
    `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                      sequence, request_id, tries, due_at)
     select workspace_id, environment, webhooks.first_id('dlv', now()) || substr(id, 14), 'evt_bench', id,
            'resource.created', 'res_bench', 1, 'req_bench', 1, now() + interval '1 day'
       from webhooks.webhooks where workspace_id like 'ws_bench%'`,
  );
  await db.query('vacuum analyze');
  await db.query('checkpoint');
}

const pause = (seconds) => new Promise((resolve) => setTimeout(resolve, seconds * 1_000));
