import { migrations as audit } from '@rms/postgres/audit';
import { startPostgres, testDatabase } from '@rms/testkit';
import { migrations } from '@rms/webhooks/migrations';
import pg from 'pg';
import { readBacklog } from '../../services/webhooks/src/engine/lease/backlog-queries.ts';
import { leaseFor } from '../../services/webhooks/src/engine/lease/lease-queries.ts';
import { readDue } from '../../services/webhooks/src/engine/lease/schedule-queries.ts';
import { quantile } from './processes.mjs';

const batchSize = 100;
const nothingKnown = { throttled: [], unsignable: [] };
const nothingExcluded = { webhookIds: [], workspaceIds: [] };
/** Webhooks per claim. */
const webhooksPerClaim = 100;

/**
 * Measures the cost of claiming 100 due deliveries, by size of the backlog and by number of webhooks it belongs
 * to. Claims are rolled back, so that each one sees the same backlog. Also measures the backlog query for metrics.
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
      open[name] = { client, pool: poolWithin(client), database, times: [], queryTimes: [] };
      await fill(client, webhooks, deliveries);
    }
    for (let round = -10; round < rounds; round++) {
      for (const { client, pool, times, queryTimes } of Object.values(open)) {
        let jobs;
        const durationMs = await timeOf(client, async () => {
          const { webhooks } = await readDue(pool, nothingExcluded, webhooksPerClaim);
          const deliveries = batchSize / webhooks.length;
          const refills = webhooks.map(({ webhookId }) => ({ webhookId, deliveries, attempts: 0, isKnown: true }));
          ({ jobs } = await leaseFor(pool, refills, { rank: 0, count: 1 }));
        });
        if (jobs.length !== batchSize) throw new Error(`claimed ${jobs.length} deliveries, expected ${batchSize}`);
        if (round >= 0) times.push(durationMs);
        const queryMs = await timeOf(client, () => readBacklog(client, nothingKnown));
        if (round >= 0) queryTimes.push(queryMs);
      }
    }
    const rows = Object.entries(open).map(([backlog, { times, queryTimes }]) => ({
      backlog,
      'p50 ms': quantile(times, 0.5),
      'p99 ms': quantile(times, 0.99),
      'backlog query, p50 ms': quantile(queryTimes, 0.5),
      'backlog query, p99 ms': quantile(queryTimes, 0.99),
    }));
    const goals = [];
    for (let i = 0; i < rows.length; i += 2) {
      const measured = rows[i + 1]['p50 ms'] / rows[i]['p50 ms'];
      goals.push({
        goal: `claim p50, ${rows[i + 1].backlog} to ${rows[i].backlog} ≤ 1.2×`,
        measured,
        met: measured <= 1.2,
      });
    }
    return { about: `milliseconds per claim of ${batchSize} due deliveries`, rows, goals };
  } finally {
    for (const { client, database } of Object.values(open)) {
      await client.end();
      await database.drop();
    }
    await postgres.stop();
  }
}

/** Returns a pool with a single connection. Its transactions run inside the connection's open transaction. */
function poolWithin(client) {
  const query = (statement) => (statement === 'begin' || statement === 'commit' ? undefined : client.query(statement));
  const connection = { query, release() {}, getTransactionStatus: () => 'I' };
  return { connect: async () => connection, query };
}

/** Returns the duration of `work` in milliseconds, in a transaction that is rolled back. */
async function timeOf(client, work) {
  await client.query('begin');
  const startedAtMs = performance.now();
  await work();
  const durationMs = performance.now() - startedAtMs;
  await client.query('rollback');
  return durationMs;
}

/** Inserts due deliveries for this many webhooks, each with its own event. */
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
