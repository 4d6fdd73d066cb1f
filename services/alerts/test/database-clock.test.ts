import { createLogger } from '@rms/runtime/logging';
import { createMetrics } from '@rms/runtime/metrics';
import { countAcrossJump, disposable, movableClock, perTest, testDatabase } from '@rms/testkit';
import { leaseEmails, queueEmails, retryEmail } from '../src/email/email-queries.ts';
import { evaluateSoon, setDue, takeDue } from '../src/evaluate/evaluation-queries.ts';
import { createHousekeeping } from '../src/housekeeping.ts';
import type { IncidentNotice } from '../src/incident/incident-queries.ts';
import { migrations } from '../src/migrations.ts';
import { insertNotifications, leaseNotifications, readGroup } from '../src/notify/notification-queries.ts';
import { recordConfirmationRequest } from '../src/recipient/recipient-queries.ts';

const dayMs = 24 * 3_600_000;
const tenant = { workspaceId: 'ws_1', environment: 'live' } as const;

test('a clock of PostgreSQL that is 40 days ahead during a pass of housekeeping deletes no counts', async () => {
  await using database = disposable(await testDatabase([migrations]));
  const { pool } = database;
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
});

describe('Waits that began while the clock of PostgreSQL was a day ahead', () => {
  let setAhead: Awaited<ReturnType<typeof movableClock>>;
  const database = perTest(() => testDatabase([migrations]));
  beforeEach(async () => {
    setAhead = await movableClock(database);
  });

  const notice = (id: string): IncidentNotice => ({
    notice: 'opened',
    coveredBy: undefined,
    incident: {
      ...{
        ...tenant,
        id,
        kind: 'delivery_failure_rate',
        subjectId: `wh_${id}`,
        object: '',
        summary: '',
        state: 'open',
      },
      ...{ openedAtMs: 0, lastNoticeAtMs: 0, notices: 1, flaps: 0, value: 1, worstValue: 1, threshold: 0 },
      ...{ calmSinceMs: undefined, closedAtMs: undefined, acknowledgedAtMs: undefined, mutedUntilMs: undefined },
      ...{ acknowledgedBy: '', reportId: '' },
    },
  });
  const gatherMs = 60_000;
  const notify = (id: string) => insertNotifications(database.pool, [notice(id)], gatherMs);
  const lease = async () =>
    (await leaseNotifications(database.pool, { limit: 20, leaseMs: 15_000, gatherMs })).map(
      ({ incidentId }) => incidentId,
    );

  test('notifications are due after the correction, and new ones are gathered as before', async () => {
    await setAhead(dayMs);
    await notify('inc_1');
    expect(await lease()).toEqual([]);
    await setAhead(0);
    await notify('inc_2');
    expect(await lease()).toEqual(['inc_1']);
    // The lease is in force, and the other one waits for its group.
    expect(await lease()).toEqual([]);
    const group = { ...tenant, kind: 'delivery_failure_rate', notice: 'opened' } as const;
    expect(await readGroup(database.pool, group, { withinMs: gatherMs, limit: 10 })).toHaveLength(2);
  });

  test('emails are attempted after the correction, and a retry within the longest delay waits', async () => {
    const email = (id: string) => ({
      ...{ ...tenant, id, recipient: 'a@example.com', sealed: Buffer.from('x') },
      expiresAt: new Date(Date.now() + 3 * dayMs),
    });
    const { pool } = database;
    const leased = async () => (await leaseEmails(pool, 20, 300_000)).map(({ id }) => id);
    await queueEmails(pool, [email('mail_1'), email('mail_2'), email('mail_3')]);
    await setAhead(dayMs);
    expect((await leased()).sort()).toEqual(['mail_1', 'mail_2', 'mail_3']);
    await retryEmail(pool, 'alerts.emails', email('mail_1'), { inMs: 30 * 60_000, error: 'error' });
    await setAhead(0);
    await retryEmail(pool, 'alerts.emails', email('mail_2'), { inMs: 30 * 60_000, error: 'error' });
    expect((await leased()).sort()).toEqual(['mail_1', 'mail_3']);
    expect(await leased()).toEqual([]);
  });

  test('tenants are evaluated after the correction, and tenants without anything to evaluate are not', async () => {
    const { pool } = database;
    await evaluateSoon(pool, [tenant, { ...tenant, environment: 'sandbox' }], 0);
    await setDue(pool, { ...tenant, environment: 'sandbox' }, undefined);
    await setAhead(dayMs);
    await setDue(pool, tenant, 60_000);
    expect(await takeDue(pool, 60_000)).toBeUndefined();
    await setAhead(0);
    expect(await takeDue(pool, 60_000)).toEqual(tenant);
    await setDue(pool, tenant, 60_000);
    expect(await takeDue(pool, 60_000)).toBeUndefined();
  });

  test('an address can be asked to confirm after the correction, once a day', async () => {
    const ask = () => recordConfirmationRequest(database.pool, 'ws_1', 'a@example.com', 24 * 3_600);
    await setAhead(dayMs);
    expect([await ask(), await ask()]).toEqual([true, false]);
    await setAhead(0);
    expect([await ask(), await ask()]).toEqual([true, false]);
  });
});
