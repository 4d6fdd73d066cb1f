import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { disposable, waitUntil } from '@rms/testkit';
import { createHousekeeping } from '../../src/housekeeping.ts';
import { authDatabase } from '../support.ts';
import { from, newAddress, newEmail, startAccounts } from '../user-support.ts';

describe('Housekeeping of user data', () => {
  test('deletes expired rows and keeps the rest', async () => {
    await using database = disposable(await authDatabase());
    // A later task than the others of this test deletes it, so its end shows that they have run.
    await database.pool.query(
      `insert into auth.idempotency_keys (workspace_id, environment, key, fingerprint, answer, expires_at)
       values ('ws_1', 'live', 'old', '', '', now() - interval '1 day')`,
    );
    await using accounts = disposable(await startAccounts({ database }));
    const { db } = accounts;
    await waitUntil(async () => (await db.query('select from auth.idempotency_keys')).rowCount === 0, {
      what: 'the first housekeeping',
    });
    const ann = await accounts.newUser();
    const { workspaceId } = ann;
    const ago = (table: string, column: string, interval: string) =>
      db.query(`update auth.${table} set ${column} = ${column} - interval '${interval}'`);
    const fill = async () => {
      await accounts.tryPassword(ann.email, 'wrong password');
      await accounts.passwords.requestPasswordReset({ email: ann.email }, from(newAddress()));
      await accounts.invitations.createInvitation({ workspaceId, email: newEmail(), role: Role.VIEWER });
    };
    const counts = async () => {
      const { rows } = await db.query(
        `select (select count(*)::int from auth.throttles) as throttles,
                  (select count(*)::int from auth.password_resets) as resets,
                  (select count(*)::int from auth.email_requests) as emails,
                  (select count(*)::int from auth.invitations) as invitations,
                  (select count(*)::int from auth.known_networks) as networks`,
      );
      return rows[0];
    };
    await fill();
    await ago('throttles', 'arrival_at', '1 day');
    await ago('password_resets', 'expires_at', '1 day');
    await ago('email_requests', 'expires_at', '30 days');
    await ago('invitations', 'expires_at', '38 days');
    await db.query(
      `insert into auth.known_networks (user_id, network, last_sign_in_at)
         select $1, '192.0.2.' || n, now() - n * interval '4 days' from generate_series(1, 30) as n`,
      [ann.id],
    );
    await fill();
    expect(await counts()).toMatchObject({ resets: 2, emails: 4, invitations: 2, networks: 30 });

    // Housekeeping runs immediately at the start.
    const second = await startAccounts({ database: accounts.database });
    try {
      await waitUntil(async () => (await counts()).networks === 22, { what: 'the networks to be deleted' });
      await waitUntil(async () => (await counts()).emails === 2, { what: 'the emails to be deleted' });
      expect(await counts()).toMatchObject({ resets: 1, emails: 2, invitations: 1, networks: 22 });
      const { rows } = await db.query("select from auth.throttles where arrival_at < now() - interval '1 hour'");
      expect(rows).toEqual([]);
      expect((await counts()).throttles).toBeGreaterThan(0);
      await accounts.tryPassword(ann.email, ann.password);
      expect((await counts()).networks).toBe(20);
    } finally {
      await second.stop();
    }
  });

  test('a failing task does not block the others; it is logged and counted by name', async () => {
    await using accounts = disposable(await startAccounts());
    const { db } = accounts;
    const ann = await accounts.newUser();
    await accounts.passwords.requestPasswordReset({ email: ann.email }, from(newAddress()));
    await db.query(`update auth.email_requests set expires_at = now() - interval '1 second'`);
    // Makes two tasks fail: key_uses, the first that deletes rows, and networks.
    await db.query('alter table auth.keys rename to unavailable_keys');
    await db.query('alter table auth.known_networks rename to unavailable_networks');
    const logged: { task?: string; msg: string }[] = [];
    const destination = { write: (line: string) => void logged.push(JSON.parse(line)) };
    const log = createLogger({ name: 'auth', level: 'error', destination });
    const metrics = createMetrics('auth');
    const housekeeping = createHousekeeping({ pool: db, log, requestLogDays: 7, metrics });
    await housekeeping.pass(new AbortController().signal);
    expect(logged).toMatchObject(['key_uses', 'networks'].map((task) => ({ msg: 'housekeeping task failed', task })));
    expect((await db.query('select from auth.email_requests')).rowCount).toBe(0);
    const { values } = (await metrics.getSingleMetric('rms_housekeeping_failures_total')?.get()) ?? {};
    expect(values).toContainEqual(expect.objectContaining({ labels: { task: 'key_uses' }, value: 1 }));
    expect(values).toContainEqual(expect.objectContaining({ labels: { task: 'emails' }, value: 0 }));
  });
});
