import { migrations as audit } from '@rms/audit';
import { startPostgres, testDatabase } from '@rms/testkit';
import { migrations } from '@rms/webhooks/migrations';
import pg from 'pg';
import { readBacklog } from '../../services/webhooks/dist/delivery/backlog-queries.js';
import { leaseDue } from '../../services/webhooks/dist/delivery/lease-queries.js';
import { quantile } from './processes.mjs';

const atOnce = 200;
const nothingKnown = { circuitOpen: [], throttled: [], unsignable: [] };

/**
 * What it costs to claim up to 200 due deliveries of a backlog, by its size and by how many webhooks it belongs to. Claims
 * are rolled back, so that each finds the same backlog. Beside that, what a look at it for metrics costs.
 */
export async function run({ quick }) {
  const rounds = quick ? 30 : 100;
  const backlogs = quick
    ? { 'one webhook, 2,000': [1, 2_000], 'one webhook, 100,000': [1, 100_000] }
    : {
        'one webhook, 2,000': [1, 2_000],
        'one webhook, 1,000,000': [1, 1_000_000],
        '1,000 webhooks, 2,000': [1_000, 2_000],
        '1,000 webhooks, 1,000,000': [1_000, 1_000_000],
      };
  const postgres = await startPostgres();
  const open = {};
  try {
    for (const [name, [webhooks, deliveries]] of Object.entries(backlogs)) {
      const database = await testDatabase([audit, migrations], postgres.url);
      const client = new pg.Client({ connectionString: database.url, pipeline: true });
      await client.connect();
      // A webhook gets a quarter of a claim at most.
      open[name] = {
        client,
        pool: poolWithin(client),
        database,
        claimed: webhooks < 4 ? atOnce / 4 : atOnce,
        times: [],
        looks: [],
      };
      await fill(client, webhooks, deliveries);
    }
    for (let round = -10; round < rounds; round++) {
      for (const { client, pool, claimed, times, looks } of Object.values(open)) {
        let jobs;
        const tookMs = await timeOf(client, async () => {
          ({ jobs } = await leaseDue(pool, { limit: atOnce, after: '', places: new Map(), fullWorkspaces: [] }));
        });
        if (jobs.length !== claimed) throw new Error(`${jobs.length} instead of ${claimed} were claimed`);
        if (round >= 0) times.push(tookMs);
        const lookMs = await timeOf(client, () => readBacklog(client, nothingKnown));
        if (round >= 0) looks.push(lookMs);
      }
    }
    const rows = Object.entries(open).map(([backlog, { claimed, times, looks }]) => ({
      backlog,
      claimed,
      'p50 ms': quantile(times, 0.5),
      'p99 ms': quantile(times, 0.99),
      'look, p50 ms': quantile(looks, 0.5),
      'look, p99 ms': quantile(looks, 0.99),
    }));
    const goals = [];
    for (let i = 0; i < rows.length; i += 2) {
      const measured = rows[i + 1]['p50 ms'] / rows[i]['p50 ms'];
      goals.push({
        goal: `a claim of ${rows[i + 1].backlog} to ${rows[i].backlog} ≤ 1.2×`,
        measured,
        met: measured <= 1.2,
      });
    }
    return { about: `milliseconds of a claim of due deliveries, ${atOnce} at most`, rows, goals };
  } finally {
    for (const { client, database } of Object.values(open)) {
      await client.end();
      await database.drop();
    }
    await postgres.stop();
  }
}

/** A pool whose transactions are a part of the one that its only connection is in. */
function poolWithin(client) {
  const query = (statement) => (statement === 'begin' || statement === 'commit' ? undefined : client.query(statement));
  const connection = { query, release() {}, getTransactionStatus: () => 'I' };
  return { connect: async () => connection, query };
}

/** How long work takes in a transaction that is rolled back, in milliseconds. */
async function timeOf(client, work) {
  await client.query('begin');
  const startedAtMs = performance.now();
  await work();
  const tookMs = performance.now() - startedAtMs;
  await client.query('rollback');
  return tookMs;
}

/** Due deliveries of so many webhooks, each with an event of its own. */
async function fill(client, webhooks, deliveries) {
  await client.query(
    `insert into webhooks.webhooks (workspace_id, environment, id, url, events, status, secret_sealed,
                                    max_retries, initial_delay_ms, max_delay_ms, created_at, updated_at)
     select 'ws_bench', 'live', 'wh_' || lpad(i::text, 26, '0'), 'https://example.com/' || i, array['*'], 'active', 'x',
            5, 60000, 43200000, now(), now()
       from generate_series(1, $1) as i`,
    [webhooks],
  );
  await client.query(
    `insert into webhooks.events (workspace_id, environment, id, position, type, resource_id, sequence, request_id,
                                  traceparent, body, created_at)
     select 'ws_bench', 'live', webhooks.first_id('evt', now()) || lpad(i::text, 16, '0'), i, 'resource.created',
            'res_' || lpad(i::text, 26, '0'), 1, 'req_bench', '', convert_to(repeat('x', 380), 'utf8'), now()
       from generate_series(1, $1) as i`,
    [deliveries],
  );
  await client.query(
    `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                      sequence, request_id, due_at, created_at)
     select 'ws_bench', 'live', 'dlv_' || substr(id, 5), id, 'wh_' || lpad((position % $1 + 1)::text, 26, '0'), type,
            resource_id, 1, request_id, now() - interval '1 second' * (position % 3600), now()
       from webhooks.events`,
    [webhooks],
  );
  await client.query('vacuum analyze');
}
