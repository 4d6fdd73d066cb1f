import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { newId } from '@rms/base/ids';
import { startEmbeddedPostgres } from '@rms/local-postgres';
import { migrations as audit } from '@rms/postgres/audit';
import { createPool, migrate } from '@rms/postgres/db';
import { fanOut } from '../../services/webhooks/src/event/fan-out-queries.ts';
import { logPartitions } from '../../services/webhooks/src/event/partitions.ts';
import { migrations } from '../../services/webhooks/src/migrations.ts';
import { filterQuery } from '../../services/webhooks/src/webhook/filter.ts';
import { newEvent } from './events.mjs';
import { median } from './processes.mjs';

const webhooks = 1_000;
const conditions = 50;
const nothing = { total: 0, ofWorkspaces: new Map(), ofOtherWorkspaces: 0, ofWebhooks: new Map() };
const log = { info() {}, warn() {}, error() {} };

/**
 * Measures the fan-out of an event to 1,000 webhooks: without filters, with 50 conditions that all webhooks share, and
 * with 50 conditions per webhook. All conditions are evaluated and hold, so the deliveries are the same. Rounds
 * alternate.
 */
export async function run({ quick }) {
  const rounds = quick ? 10 : 60;
  const folder = mkdtempSync(join(tmpdir(), 'rms-bench-'));
  const server = await startEmbeddedPostgres({ dataDir: folder, password: 'bench', log });
  const options = { url: server.url, max: 2, applicationName: 'bench', log };
  const pool = createPool({ ...options, plans: 'kept' });
  try {
    await migrate(pool, [audit, migrations]);
    await logPartitions.makeFor(pool, [Date.now()], Date.now());
    const metadata = Object.fromEntries(Array.from({ length: conditions }, (_, i) => [`key${i}`, `value ${i}`]));
    const fields = Object.keys(metadata).map((key) => `metadata.${key}`);
    const same = { all: fields.map((field, i) => ({ field, op: 'eq', value: `value ${i}` })) };
    const different = (webhook) => ({
      all: fields.map((field, i) => ({ field, op: 'ne', value: `other ${webhook} ${i}` })),
    });
    const tenants = { 'no filter': newId('ws'), 'the same filter': newId('ws'), 'different filters': newId('ws') };
    await fill(pool, tenants['no filter'], () => null);
    await fill(pool, tenants['the same filter'], () => same);
    await fill(pool, tenants['different filters'], different);
    await pool.query('analyze webhooks.webhooks');
    const times = Object.fromEntries(Object.keys(tenants).map((name) => [name, []]));
    for (let round = -3; round < rounds; round++) {
      for (const [name, workspaceId] of Object.entries(tenants)) {
        const event = withMetadata(newEvent(workspaceId), metadata);
        const arrivals = [
          { event, record: { key: '', value: Buffer.alloc(0), headers: {}, partition: 0, offset: '0' } },
        ];
        const startedAtMs = performance.now();
        await fanOut(pool, arrivals, {
          freeCapacity: { ...nothing, part: { rank: 0, count: 1 } },
          // Each event has all its deliveries at once.
          deliveries: 2 * webhooks,
        });
        // The first rounds warm up.
        if (round >= 0) times[name].push(performance.now() - startedAtMs);
      }
    }
    const { rows: stored } = await pool.query(
      'select count(*)::integer as deliveries from webhooks.deliveries group by workspace_id',
    );
    const expected = (rounds + 3) * webhooks;
    if (stored.length !== 3 || stored.some(({ deliveries }) => deliveries !== expected)) {
      throw new Error(`expected ${expected} deliveries per tenant, found ${JSON.stringify(stored)}`);
    }
    const rows = Object.entries(times).map(([name, all]) => ({
      webhooks: `1,000, ${name}`,
      'ms per event': median(all),
    }));
    const [none, ...filtered] = Object.values(times).map(median);
    const ratio = Math.max(...filtered) / none;
    return {
      about: 'fan-out of an event to 1,000 webhooks, milliseconds until its deliveries are stored',
      rows,
      goals: [
        { goal: `${conditions} conditions × ${webhooks} webhooks ≤ 1.3× of none`, measured: ratio, met: ratio <= 1.3 },
      ],
    };
  } finally {
    await pool.end();
    await server.stop();
    rmSync(folder, { recursive: true });
  }
}

async function fill(pool, workspaceId, filterOf) {
  const filters = Array.from({ length: webhooks }, (_, i) => filterOf(i));
  await pool.query(
    `insert into webhooks.webhooks (workspace_id, environment, id, url, events, status, secret_sealed, max_retries,
                                    initial_delay_ms, max_delay_ms, created_at, updated_at, filter, filter_query)
     select $1, 'live', 'wh_' || $1 || i, 'https://example.com', '{*}', 'active', '', 5, 1000, 1000, now(), now(),
            filter::json, case when query is not null then array[query::tsquery] end
       from unnest($2::text[], $3::text[]) with ordinality as f (filter, query, i)`,
    [workspaceId, filters.map((one) => one && JSON.stringify(one)), filters.map((one) => one && filterQuery(one))],
  );
}

function withMetadata(event, metadata) {
  const envelope = JSON.parse(Buffer.from(event.body).toString('utf8'));
  envelope.data.object.metadata = metadata;
  event.body = Buffer.from(JSON.stringify(envelope));
  return event;
}
