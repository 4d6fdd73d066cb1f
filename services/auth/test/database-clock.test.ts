import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { countAcrossJump, disposable, movableClock, perTest } from '@rms/testkit';
import { insertEmail } from '../src/email/email-queries.ts';
import { createHousekeeping } from '../src/housekeeping.ts';
import { requestPartitions } from '../src/request/request-log.ts';
import { setPending } from '../src/rpc/begin-second-factor.ts';
import { readPending } from '../src/rpc/confirm-second-factor.ts';
import { leaseEmails } from '../src/rpc/lease-email-requests.ts';
import { throttles } from '../src/sign-in/throttle.ts';
import { authDatabase } from './support.ts';

test('a clock of PostgreSQL that is 40 days ahead during a pass of housekeeping deletes nothing', async () => {
  await using database = disposable(await authDatabase());
  const { pool } = database;
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
});

describe('After the clock of PostgreSQL was a day ahead', () => {
  const dayMs = 24 * 3_600_000;
  let setAhead: Awaited<ReturnType<typeof movableClock>>;
  const database = perTest(authDatabase);
  beforeEach(async () => {
    setAhead = await movableClock(database);
  });

  test('emails that were leased then are leased again, and leases of the real time last', async () => {
    const { pool } = database;
    const lease = async () => (await leaseEmails(pool, 10, 60)).map(({ id }) => id);
    const expiresAt = new Date(Date.now() + 3 * dayMs);
    await insertEmail(pool, { wake() {} }, { id: 'mlr_1', sealed: Buffer.from('x'), expiresAt });
    await setAhead(dayMs);
    expect(await lease()).toEqual(['mlr_1']);
    await setAhead(0);
    expect(await lease()).toEqual(['mlr_1']);
    expect(await lease()).toEqual([]);
  });

  test('attempts are limited for at most the pace of one attempt', async () => {
    const subject = Buffer.from('subject');
    const paces = [
      { burst: 10, everySeconds: 60 },
      { burst: 3, everySeconds: 1_200 },
      { burst: 5_000, everySeconds: 20 },
    ];
    for (const [i, pace] of paces.entries()) {
      const take = () => throttles.take(database.pool, Buffer.concat([subject, Buffer.from([i])]), pace);
      await setAhead(dayMs);
      expect(await take()).toBe(0);
      await setAhead(0);
      expect(await take()).toBe(0);
      expect(await take()).toBeLessThanOrEqual(pace.everySeconds);
    }
  });

  test('a second factor that was not confirmed then has expired', async () => {
    const { pool } = database;
    await pool.query(
      `insert into auth.users (id, email, email_key, password_hash) values ('usr_1', 'a@example.com', 'a@example.com', '')`,
    );
    const { rows } = await pool.query<{ generation: number }>(
      'select session_generation as generation from auth.users',
    );
    const user = { id: 'usr_1', sessionGeneration: rows[0]?.generation ?? 0 };
    await setAhead(dayMs);
    expect(await setPending(pool, user, Buffer.from('x'))).toBe(true);
    expect(await readPending(pool, 'usr_1')).toEqual(Buffer.from('x'));
    await setAhead(0);
    expect(await readPending(pool, 'usr_1')).toBeUndefined();
  });
});
