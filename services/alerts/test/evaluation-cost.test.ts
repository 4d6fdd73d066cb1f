import { type Tenant, toTenant } from '@rms/base/tenant';
import { createPool, createQueue } from '@rms/postgres/db';
import { createLogger } from '@rms/runtime/logging';
import { Counter } from '@rms/runtime/metrics';
import { perSuite, type TestDatabase, waitUntil } from '@rms/testkit';
import { createEvaluator } from '../src/evaluate/evaluator.ts';
import { deleteSurplus, readCurrent } from '../src/incident/incident-queries.ts';
import { alertsDatabase, newTenant } from './support.ts';

const webhooks = 300;

/** Returns a pool, and the number of statements of each transaction that it has committed. */
function countingPool(database: TestDatabase) {
  const log = createLogger({ name: 'test', level: 'silent' });
  const pool = createPool({ url: database.url, max: 2, applicationName: 'test', log });
  const committed: number[] = [];
  pool.on('connect', (client) => {
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    let statements = 0;
    client.query = ((...given: unknown[]) => {
      statements += 1;
      if (given[0] === 'begin') statements = 0;
      if (given[0] === 'commit') committed.push(statements);
      return query(...given);
    }) as typeof client.query;
  });
  return { pool, committed };
}

describe('The evaluation of a tenant with many failing webhooks', () => {
  const database = perSuite(alertsDatabase);

  test('takes as many statements as that of any other tenant, because the others wait for it', async () => {
    const { workspaceId } = newTenant();
    const { pool, committed } = countingPool(database);
    const metrics = { notices: new Counter({ name: 'n', help: 'n', labelNames: ['kind', 'notice'], registers: [] }) };
    const log = createLogger({ name: 'test', level: 'silent' });
    await database.pool.query(
      `insert into alerts.webhook_runs (workspace_id, environment, webhook_id, failures, last_attempt_at, url)
       select $1, 'live', 'wh_' || n, 3, now(), 'https://example.com/' || n from generate_series(1, $2) as n`,
      [workspaceId, webhooks],
    );
    await database.pool.query(
      `insert into alerts.evaluations (workspace_id, environment, due_at) values ($1, 'live', now())`,
      [workspaceId],
    );
    const stopping = new AbortController();
    const evaluator = createEvaluator({
      pool,
      queue: createQueue(),
      log,
      now: Date.now,
      everyMs: 60_000,
      gatherMs: 60_000,
      onNotices: () => {},
      pages: { queue: async () => {}, queueEnds: async () => {}, wake() {} },
      metrics,
    });
    const running = evaluator.run(stopping.signal);
    const { rows } = await waitUntil(
      async () => {
        const found = await database.pool.query<{ incidents: number; notifications: number }>(
          `select (select count(*)::integer from alerts.incidents where state = 'open') as incidents,
                  (select count(*)::integer from alerts.notifications where notice = 'opened') as notifications`,
        );
        return found.rows[0]?.incidents ? found : undefined;
      },
      { what: 'the incidents' },
    );
    stopping.abort();
    await running;
    await pool.end();
    expect(rows).toEqual([{ incidents: webhooks, notifications: webhooks }]);
    expect(Math.max(...committed)).toBeLessThan(20);
  });

  /** Stores one open incident, and `closed` incidents that ended one per second. */
  const addIncidents = (tenant: Tenant, closed: number) =>
    database.pool.query(
      `insert into alerts.incidents
              (workspace_id, environment, id, kind, subject_id, state, opened_at, last_notice_at, notices, closed_at, value,
               worst_value, threshold, summary, flaps)
       select $1, $2, 'inc_' || n, 'webhook_disabled', 'wh_' || n, case n when 1 then 'open' else 'ended' end, now(), now(),
              1, case n when 1 then null else now() - n * interval '1 second' end, 1, 1, 0, '', 0
         from generate_series(1, $3 + 1) as n`,
      [tenant.workspaceId, tenant.environment, closed],
    );

  test('keeps the open incidents and the newest 5,000 closed ones of the tenant', async () => {
    const [tenant, other] = [toTenant(newTenant()), toTenant(newTenant())];
    await addIncidents(tenant, 5_100);
    await addIncidents(other, 5);
    await deleteSurplus(database.pool, tenant);
    const { rows } = await database.pool.query<{ state: string; count: number; last: number }>(
      `select state, count(*)::integer as count, max(substr(id, 5)::integer) as last from alerts.incidents
        where workspace_id = $1 group by state order by state`,
      [tenant.workspaceId],
    );
    expect(rows).toEqual([
      { state: 'ended', count: 5_000, last: 5_001 },
      { state: 'open', count: 1, last: 1 },
    ]);
    expect(await readCurrent(database.pool, other)).toHaveLength(6);
  });

  test('reads a bounded number of incidents that have closed within a day', async () => {
    const tenant = toTenant(newTenant());
    await addIncidents(tenant, 5_099);
    const current = await readCurrent(database.pool, tenant);
    expect(current.filter(({ state }) => state === 'open')).toHaveLength(1);
    expect(current.filter(({ state }) => state === 'ended')).toHaveLength(5_000);
    expect(current.some(({ subjectId }) => subjectId === 'wh_2')).toBe(true);
  });
});
