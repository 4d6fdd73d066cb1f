import { firstId, newId } from '@rms/base/ids';
import { inTransaction } from '@rms/postgres/db';
import { createMetrics } from '@rms/runtime/metrics';
import { perTest } from '@rms/testkit';
import { type StateOfBacklog, showBacklog, summed } from '../../src/engine/backlog-gauges.ts';
import { readBacklog, readHeld, type WebhookStates } from '../../src/engine/lease/backlog-queries.ts';
import { stepsOn } from '../leases.ts';
import { newEvent, newEvents, newTenant, webhooksDatabase } from '../support.ts';

const nothing: WebhookStates = { throttled: [], unsignable: [] };

describe('The backlog', () => {
  const database = perTest(webhooksDatabase);
  const steps = perTest(() => stepsOn(database.pool));

  const read = async (states = nothing, nowMs = Date.now()) => {
    const parts = summed(await inTransaction(database.pool, (tx) => readBacklog(tx, states)), nowMs);
    return Object.fromEntries(parts.map((part) => [part.state, part])) as Record<string, StateOfBacklog>;
  };
  const counts = async (states = nothing) => {
    const parts = Object.values(await read(states));
    return Object.fromEntries(parts.flatMap(({ state, count }) => (count > 0 ? [[state, count]] : [])));
  };
  const set = (sql: string, ...values: unknown[]) =>
    database.pool.query(`update webhooks.deliveries set ${sql}`, values);

  test('an empty queue has zero values in every state', async () => {
    const parts = Object.values(await read());
    expect(parts.map(({ state }) => state).sort()).toEqual([
      'circuit_open',
      'due',
      'in_flight',
      'ordered',
      'paused',
      'rate_limited',
      'retry',
      'throttled',
    ]);
    for (const { count, oldestSeconds, overdueSeconds } of parts) {
      expect([count, oldestSeconds, overdueSeconds]).toEqual([0, 0, 0]);
    }
  });

  test('deliveries are counted by state', async () => {
    const tenant = newTenant();
    const webhook = await steps.subscribe(tenant);
    const ids = newEvents(tenant, 6);
    await steps.store(ids, 2);
    expect(await counts()).toEqual({ in_flight: 2, due: 4 });
    const pause = (ms: number) => database.pool.query('update webhooks.endpoints set pause_ms = $1', [ms]);
    await pause(500);
    expect(await counts()).toEqual({ in_flight: 2, circuit_open: 4 });
    expect(await readHeld(database.pool)).toEqual({ circuit: 1, rateLimit: 0 });
    await pause(0);
    await database.pool.query('update webhooks.webhooks set requests_per_second = 1');
    await database.pool.query("update webhooks.endpoints set not_before = now() + interval '1 minute'");
    expect(await counts()).toEqual({ in_flight: 2, rate_limited: 4 });
    expect(await readHeld(database.pool)).toEqual({ circuit: 0, rateLimit: 1 });
    await database.pool.query('update webhooks.webhooks set requests_per_second = null');
    expect(await counts({ ...nothing, throttled: [webhook] })).toEqual({ in_flight: 2, throttled: 4 });
    expect(await counts({ ...nothing, throttled: [webhook], unsignable: [webhook] })).toEqual({
      in_flight: 2,
      paused: 4,
    });
    await set("tries = 1, due_at = now() + interval '1 hour' where due_at > now()");
    expect(await counts()).toEqual({ retry: 2, due: 4 });
    await set('ordered = true, due_at = null where tries = 0');
    expect(await counts()).toEqual({ retry: 2, ordered: 4 });
    await set("due_at = now() - interval '1 minute'");
    await database.pool.query("update webhooks.webhooks set status = 'disabled'");
    expect(await counts()).toEqual({ paused: 6 });
  });

  test('reports the oldest event and the longest overdue delivery; redeliveries and replays do not count as old', async () => {
    database.breaks(['deliveries'], 'makes deliveries older by other IDs');
    const [tenant, other] = [newTenant(), newTenant()];
    for (const one of [tenant, other]) {
      await steps.subscribe(one);
      await steps.store(newEvents(one, 5));
    }
    const old = (agoMs: number) => `${firstId('dlv', Date.now() - agoMs)}${newId('dlv').slice(14)}`;
    const again = (where: string) =>
      set(
        `id = $1, origin = $2, due_at = now() - interval '20 seconds'
          where (workspace_id, id) = (select workspace_id, id from webhooks.deliveries where ${where} limit 1)`,
        old(86_400_000),
        newId('rpl'),
      );
    await again(`workspace_id = '${tenant.workspaceId}'`);
    await set(
      `id = $1, due_at = now() - interval '30 seconds'
        where (workspace_id, id) = (select workspace_id, id from webhooks.deliveries
                                     where workspace_id = '${tenant.workspaceId}' and origin = 'event' limit 1)`,
      old(3_600_000),
    );
    const { due } = await read();
    expect(due?.count).toBe(10);
    expect(due?.oldestSeconds).toBeGreaterThanOrEqual(3_600);
    expect(due?.oldestSeconds).toBeLessThan(7_200);
    expect(due?.overdueSeconds).toBeGreaterThanOrEqual(30);
    expect(due?.overdueSeconds).toBeLessThan(3_600);
  });

  test('a locked table does not block a scrape: the last values are reported', async () => {
    const tenant = newTenant();
    await steps.subscribe(tenant);
    await steps.store([newEvent(tenant)]);
    const metrics = createMetrics('webhooks');
    showBacklog(metrics, database.pool, () => nothing, 0);
    const due = (text: string) => /rms_deliveries_pending\{state="due"[^}]*\} (\d+)/.exec(text)?.[1];
    expect(due(await metrics.metrics())).toBe('1');
    const holder = await database.pool.connect();
    try {
      await holder.query('begin; lock table webhooks.deliveries');
      const shown = await Promise.all([metrics.metrics(), metrics.metrics()]);
      expect(shown.map(due)).toEqual(['1', '1']);
      const { rows } = await holder.query<{ count: number }>(
        `select count(*)::integer as count from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`,
      );
      expect(rows[0]?.count).toBe(1);
    } finally {
      await holder.query('rollback');
      holder.release();
    }
  });

  test('a long queue is sampled: counts are estimates, the oldest is exact', async () => {
    database.breaks(['deliveries'], 'queues many deliveries without their events');
    const tenant = newTenant();
    const webhook = await steps.subscribe(tenant);
    const total = 60_000;
    const oldest = `${firstId('dlv', Date.now() - 7_200_000)}${'0'.repeat(16)}`;
    await database.pool.query(
      `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                        sequence, request_id, tries, due_at)
       select $1, 'live', case n when 30000 then $4 else $2 || lpad(n::text, 16, '0') end, 'evt_' || n, $3,
              'resource.created', 'res_1', 1, 'req_1', 1, now() + interval '1 hour'
         from generate_series(1, ${total}) as n`,
      [tenant.workspaceId, firstId('dlv', Date.now() - 60_000), webhook, oldest],
    );
    const client = await database.pool.connect();
    try {
      await client.query('begin');
      const parts = summed(await readBacklog(client, nothing), Date.now());
      const retry = parts.find(({ state }) => state === 'retry');
      expect(retry?.count).toBeGreaterThan(total * 0.8);
      expect(retry?.count).toBeLessThan(total * 1.2);
      expect(retry?.oldestSeconds).toBeGreaterThanOrEqual(7_200);
      await client.query('rollback');
    } finally {
      client.release();
    }
  });
});
