import { createLogger } from '@rms/logging';
import { createMetrics } from '@rms/metrics';
import { countAcrossJump, movableClock } from '@rms/testkit';
import { createHousekeeping } from '../src/housekeeping.ts';
import { requestPartitions } from '../src/request/request-log.ts';
import { authDatabase } from './support.ts';

test('a clock of PostgreSQL that is 40 days ahead during a pass of housekeeping deletes nothing', async () => {
  const database = await authDatabase();
  const { pool } = database;
  try {
    const setAhead = await movableClock(database);
    await requestPartitions.make(pool);
    await pool.query(
      `insert into auth.idempotency_keys (workspace_id, environment, key, fingerprint, answer, expires_at)
       values ('ws_1', 'live', 'k', '', '', now() + interval '24 hours')`,
    );
    await pool.query(
      `insert into auth.users (id, email, email_key, password_hash) values ('usr_1', 'a@example.com', 'a@example.com', '')`,
    );
    await pool.query(`insert into auth.password_resets (token_hash, user_id, expires_at)
                      values ('', 'usr_1', now() + interval '1 hour')`);
    await pool.query(
      "insert into auth.known_networks (user_id, network, last_sign_in_at) values ('usr_1', '192.0.2.1', now())",
    );
    const log = createLogger({ name: 'test', level: 'silent' });
    // Each pass is that of a restarted instance, so that it runs every task.
    const housekeep = () =>
      createHousekeeping({ pool, log, metrics: createMetrics('auth'), requestLogDays: 7 }).pass(
        new AbortController().signal,
      );
    const count = async () => {
      const { rows } = await pool.query(
        `select (select count(*)::int from pg_inherits where inhparent = 'auth.requests'::regclass
                   and inhrelid = to_regclass('auth.requests_' || to_char(pg_catalog.now() at time zone 'UTC', 'YYYYMMDD')))
                  as today,
                (select count(*)::int from auth.idempotency_keys) as keys,
                (select count(*)::int from auth.password_resets) as resets,
                (select count(*)::int from auth.known_networks) as networks`,
      );
      return rows[0];
    };
    const kept = { today: 1, keys: 1, resets: 1, networks: 1 };
    expect(await countAcrossJump(setAhead, housekeep, count)).toEqual([kept, kept, kept]);
  } finally {
    await database.drop();
  }
});
