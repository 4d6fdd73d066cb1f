import { createLogger } from '@rms/logging';
import { createMetrics } from '@rms/metrics';
import { countAcrossJump, movableClock, testDatabase } from '@rms/testkit';
import { createHousekeeping } from '../src/housekeeping.ts';
import { migrations } from '../src/migrations.ts';

test('a clock of PostgreSQL that is 40 days ahead during a pass of housekeeping deletes no counts', async () => {
  const database = await testDatabase([migrations]);
  const { pool } = database;
  try {
    const setAhead = await movableClock(database);
    await pool.query(
      `insert into alerts.request_counts (workspace_id, environment, period, starts_at, requests, admitted, client_errors,
                                          server_errors, rate_limited, quota_refused, latencies, monthly_quota)
       select 'ws_1', 'live', period, now() - age, 1, 1, 0, 0, 0, 0, '{1}', 0
         from (values ('minute', interval '1 minute'), ('minute', interval '3 days'), ('hour', interval '34 days'),
                      ('day', interval '399 days')) as counts (period, age)`,
    );
    await pool.query(
      "insert into alerts.reporters (workspace_id, environment, reporter_id, sequence) values ('ws_1', 'live', 'rep_1', 1)",
    );
    const log = createLogger({ name: 'test', level: 'silent' });
    // Each pass is that of a restarted instance, so that it runs every task.
    const housekeep = () =>
      createHousekeeping({ pool, log, metrics: createMetrics('alerts') }).pass(new AbortController().signal);
    const count = async () => {
      const { rows } = await pool.query(
        `select (select array_agg(period order by period) from alerts.request_counts) as periods,
                (select count(*)::int from alerts.reporters) as reporters`,
      );
      return rows[0];
    };
    const kept = { periods: ['day', 'hour', 'minute'], reporters: 1 };
    expect(await countAcrossJump(setAhead, housekeep, count)).toEqual([kept, kept, kept]);
  } finally {
    await database.drop();
  }
});
