import { migrations as audit } from '@rms/postgres/audit';
import { createPool } from '@rms/postgres/db';
import { createLogger } from '@rms/runtime/logging';
import { startPostgres, testDatabase } from '@rms/testkit';
import { migrations } from '@rms/webhooks/migrations';
import pg from 'pg';
import { readDeliveries } from '../../services/webhooks/src/delivery/log-queries.ts';
import { quantile } from './processes.mjs';

const days = 30;
const dayMs = 24 * 3_600_000;
const page = /** @type {const} */ ({
  scope: { workspaceId: 'ws_bench', environments: ['live'] },
  limit: 50,
  attempts: 'summaries',
});
const webhookId = `wh_${'7'.padStart(26, '0')}`;

/**
 * Filters of the delivery log. Per filter, the benchmark reads the first page of 50 and the next one. `i` is the
 * number of the round.
 */
const filters = {
  'no filter': () => ({}),
  webhook: () => ({ webhookId }),
  'webhook and failed (1 %)': () => ({ webhookId, status: 'failed' }),
  'failed (1 %)': () => ({ status: 'failed' }),
  'event type': () => ({ eventType: 'resource.deleted' }),
  'an hour ten days ago': () => ({
    since: new Date(Date.now() - 10 * dayMs),
    until: new Date(Date.now() - 10 * dayMs + 3_600_000),
  }),
  'request id': (i, rows) => ({ requestId: `req_${(i * 7_919) % rows}` }),
  resource: (i, rows) => ({ resourceId: `res_${String((i * 7_919) % Math.ceil(rows / 10)).padStart(26, '0')}` }),
};

/** Measures pages of the delivery log by number of stored attempts, over 30 daily partitions. */
export async function run({ quick }) {
  const sizes = quick ? [10_000, 1_000_000] : [10_000, 10_000_000];
  const rounds = quick ? 30 : 60;
  const log = createLogger({ name: 'bench', level: 'silent' });
  // Fast writes: filling the log is not part of the measurement.
  const postgres = await startPostgres({ synchronous_commit: 'off', max_wal_size: '8GB', shared_buffers: '512MB' });
  const open = [];
  try {
    for (const rows of sizes) {
      const database = await testDatabase([audit, migrations], postgres.url);
      const pool = createPool({ url: database.url, max: 2, applicationName: 'bench', log });
      open.push({ rows, pool, database, times: new Map(Object.keys(filters).map((name) => [name, []])) });
      await fill(database.url, rows);
    }
    for (let round = -5; round < rounds; round++) {
      for (const [name, filterOf] of Object.entries(filters)) {
        for (const { rows, pool, times } of open) {
          const filter = filterOf(round + 5, rows);
          const startedAtMs = performance.now();
          const { deliveries, next } = await readDeliveries(pool, { ...page, filter });
          if (next) await readDeliveries(pool, { ...page, filter: { ...filter, before: next } });
          if (deliveries.length === 0) throw new Error(`filter "${name}" matched no deliveries (${rows} attempts)`);
          if (round >= 0) times.get(name).push((performance.now() - startedAtMs) / (next ? 2 : 1));
        }
      }
    }
    const p50 = ({ times }, name) => quantile(times.get(name), 0.5);
    const [small, large] = open;
    const rows = Object.keys(filters).map((name) => ({
      filter: name,
      ...Object.fromEntries(open.map((one) => [`${one.rows} attempts, ms`, p50(one, name)])),
      ratio: p50(large, name) / p50(small, name),
    }));
    const worst = Math.max(...rows.map(({ ratio }) => ratio));
    return {
      about: `milliseconds per page of ${page.limit} deliveries with their attempts (p50)`,
      rows,
      goals: [
        { goal: `a page costs the same at ${large.rows} attempts within 1.2×`, measured: worst, met: worst <= 1.2 },
      ],
    };
  } finally {
    for (const { pool, database } of open) {
      await pool.end();
      await database.drop();
    }
    await postgres.stop();
  }
}

/**
 * Fills a log with this many deliveries with one attempt each, and their events: 20 webhooks, evenly over the last 30
 * days.
 */
async function fill(url, rows) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`select webhooks.make_partitions((now() at time zone 'UTC')::date - ${days + 1},
                                                    (now() at time zone 'UTC')::date + 1)`);
  const perDay = Math.floor(rows / days);
  for (let day = 0; day < days; day++) {
    await client.query(
      `insert into webhooks.events (workspace_id, environment, id, position, type, resource_id, sequence, request_id,
                                    traceparent, body, created_at)
       select 'ws_bench', 'live', webhooks.first_id('evt', at) || lpad(i::text, 16, '0'), i,
              (array['resource.created', 'resource.updated', 'resource.status_changed', 'resource.deleted'])[i % 4 + 1],
              'res_' || lpad((i % $3)::text, 26, '0'), 1, 'req_' || i, '', convert_to(repeat('x', 100), 'utf8'), at
         from (select i, now() - interval '1 day' * ${days} + interval '1 second' * (i * ${(days * dayMs) / 1_000}::float8 / $4) as at
                 from generate_series($1::bigint, $2::bigint) as i) as series`,
      [day * perDay, (day + 1) * perDay - 1, Math.ceil(rows / 10), rows],
    );
  }
  await client.query(
    `insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                        request_id, status, origin, attempts, created_at)
     select workspace_id, environment, 'dlv_' || substr(id, 5), id, 'wh_' || lpad((position % 20)::text, 26, '0'), type,
            resource_id, request_id, case when position % 100 in (7, 8) then 'failed' else 'delivered' end, 'event',
            jsonb_build_array(jsonb_build_object(
              'number', 1, 'at', created_at, 'status_code', 200, 'error', '', 'duration_ms', 12, 'dns_ms', 0.4,
              'connect_ms', 1.2, 'tls_ms', 3.1, 'first_byte_ms', 7.4, 'address', '203.0.113.9',
              'request_headers', '[["content-type","application/json"],["webhook-id","evt_1"],["webhook-signature","v1,${'x'.repeat(44)}"]]'::jsonb,
              'response_headers', '[["content-type","text/plain"],["content-length","2"]]'::jsonb,
              'response_body', 'ok')), created_at
       from webhooks.events`,
  );
  await client.query('vacuum analyze webhooks.events, webhooks.delivery_log');
  await client.end();
}
