import { createHash } from 'node:crypto';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { createSecretBox } from '@rms/base/secrets';
import type { Pool } from '@rms/postgres/db';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { createLogger } from '@rms/runtime/logging';
import { startSmtpReceiver, waitUntil } from '@rms/testkit';
import { leaseEmails, queueEmails } from '../src/email/email-queries.ts';
import { createKeySweep } from '../src/evaluate/key-sweep.ts';
import { leaseNotifications } from '../src/notify/notification-queries.ts';
import { emailContext } from '../src/sealed/contexts.ts';
import { FakeAuth } from './fake-auth.ts';
import { alertsDatabase, newTenant, type StartOptions, startAlerts, type Tenant, type TestAlerts } from './support.ts';

/** Text that PostgreSQL rejects. */
const invalid = 'bad\u0000id';

const insertNotifications = (pool: Pool, { workspaceId }: Tenant, count: number) =>
  pool.query(
    `insert into alerts.notifications (workspace_id, environment, id, kind, notice, incident_id, subject_id, summary,
                                       opened_at, due_at)
     select $1, 'live', 'ntf_' || n || $1, 'quota', 'opened', 'inc_1', '', 'quota', now(), now()
       from generate_series(1, $2) as n`,
    [workspaceId, count],
  );

import { readQuotaUses } from '../src/usage/usage-queries.ts';

describe('A failure in one workspace does not block the others:', () => {
  const cleanUps: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (let next = cleanUps.pop(); next; next = cleanUps.pop()) await next();
  });
  const started = async (options: StartOptions = {}): Promise<TestAlerts> => {
    const service = await startAlerts(options);
    cleanUps.push(() => service.stop());
    return service;
  };
  const rowOf = async ({ database }: TestAlerts, sql: string, values: unknown[] = []) =>
    waitUntil(async () => (await database.pool.query(sql, values)).rows[0], { what: sql });

  test('the sweep of expiring keys', async () => {
    const database = await alertsDatabase();
    cleanUps.push(() => database.drop());
    const auth = new FakeAuth();
    const [first, invalidData, last] = [newTenant(), newTenant(), newTenant()];
    for (const { workspaceId } of [first, invalidData, last])
      auth.addWorkspace(workspaceId, 'Acme', 'owner@example.com');
    const key = { environment: Environment.LIVE, name: 'k', expireTime: timestampFromMs(Date.now() + 86_400_000) };
    auth.failing.add(first.workspaceId);
    auth.setKeys(
      { ...key, workspaceId: invalidData.workspaceId, id: invalid },
      { ...key, workspaceId: last.workspaceId, id: 'key_good' },
    );
    const logged: object[] = [];
    const destination = { write: (line: string) => void logged.push(JSON.parse(line)) };
    const log = createLogger({ name: 'alerts', level: 'warn', destination });
    const { pool } = database;
    const { keys, workspaces } = auth;
    const sweeper = createKeySweep({ pool, keys, workspaces, log, time: { nowMs: Date.now }, everyMs: 3_600_000 });
    await sweeper.sweep(new AbortController().signal);
    const { rows } = await pool.query('select workspace_id, key_id from alerts.expiring_keys');
    expect(rows).toEqual([{ workspace_id: last.workspaceId, key_id: 'key_good' }]);
    expect(logged).toMatchObject([{ workspaces: 2, workspace_ids: [first.workspaceId, invalidData.workspaceId] }]);
  });

  test('notices about webhooks', async () => {
    const service = await started();
    const tenant = newTenant();
    await service.notify(newTenant(), 'webhook.disabled', invalid);
    await service.notify(tenant, 'webhook.disabled', 'wh_good');
    const row = await rowOf(service, 'select workspace_id, webhook_id from alerts.disabled_webhooks');
    expect(row).toEqual({ workspace_id: tenant.workspaceId, webhook_id: 'wh_good' });
    expect(service.logged.some((line) => line.includes('skipped an invalid notice'))).toBe(true);
  });

  test('account emails', async () => {
    const service = await started();
    const content = { case: 'passwordReset', value: { token: 't' } } as const;
    service.auth.emails = [
      { id: invalid, to: 'first@example.com', content },
      { id: 'mlr_good', to: 'second@example.com', content },
    ];
    await rowOf(service, `select from alerts.emails where id = 'mlr_good'`);
    await waitUntil(() => service.auth.emails.length === 1, { what: 'the deletion of the queued email' });
    expect(service.auth.emails[0]?.id).toBe(invalid);
  });

  test('an email with unusable content, which fails permanently', async () => {
    const smtp = await startSmtpReceiver();
    cleanUps.push(() => smtp.stop());
    const service = await started({ smtpUrl: smtp.url });
    const box = createSecretBox(Buffer.alloc(32, 1), []);
    const email = { environment: '', recipient: 'a@example.com', expiresAt: new Date(Date.now() + 60_000) } as const;
    await queueEmails(service.database.pool, [
      {
        ...email,
        workspaceId: '',
        id: 'mail_bad',
        sealed: box.seal('null', emailContext({ ...email, id: 'mail_bad' })),
      },
    ]);
    await rowOf(service, `select from alerts.emails where id = 'mail_bad' and state = 'failed'`);
  });

  test('alerts of a workspace that exceeds its limit of emails; they wait', async () => {
    const service = await started();
    const { pool } = service.database;
    const [noisy, other] = [newTenant(), newTenant()];
    for (const { workspaceId } of [noisy, other]) service.auth.addWorkspace(workspaceId, 'Acme', 'owner@example.com');
    const subject = createHash('sha256').update(`alert/workspace/${noisy.workspaceId}`).digest();
    await pool.query(
      `insert into alerts.throttles (subject, arrival_at) values ($1, now() + interval '5050 seconds')`,
      [subject],
    );
    await insertNotifications(pool, noisy, 50);
    await insertNotifications(pool, other, 1);
    const email = await rowOf(service, 'select workspace_id from alerts.emails');
    expect(email).toEqual({ workspace_id: other.workspaceId });
    // The first refusal postpones all of them, so that they do not occupy the notifier.
    const waiting = 'select from alerts.notifications where due_at > now() limit 1';
    await rowOf(service, waiting);
    const { rows } = await pool.query(
      'select distinct workspace_id, due_at > now() as waits, due_at from alerts.notifications',
    );
    expect(rows).toEqual([{ workspace_id: noisy.workspaceId, waits: true, due_at: expect.any(Date) }]);
    await pool.query('delete from alerts.throttles');
    await pool.query('update alerts.notifications set due_at = now()');
    await rowOf(service, 'select from alerts.emails where workspace_id = $1', [noisy.workspaceId]);
  });

  test('notifications and emails of a workspace with many; workspaces take turns', async () => {
    const database = await alertsDatabase();
    cleanUps.push(() => database.drop());
    const { pool } = database;
    const [noisy, other] = [newTenant(), newTenant()];
    for (const [tenant, count] of [
      [noisy, 1_100],
      [other, 2],
    ] as const) {
      await insertNotifications(pool, tenant, count);
      const { workspaceId } = tenant;
      const email = { workspaceId, environment: 'live', recipient: 'a@example.com', sealed: Buffer.alloc(1) } as const;
      const expiresAt = new Date(Date.now() + 60_000);
      await queueEmails(
        pool,
        Array.from({ length: count }, (_, i) => ({ ...email, id: `mail_${i}`, expiresAt })),
      );
    }
    const fair = [noisy, noisy, other, other].map(({ workspaceId }) => workspaceId).sort();
    const ofTurn = (leased: readonly { workspaceId: string }[]) => leased.map(({ workspaceId }) => workspaceId).sort();
    expect(ofTurn(await leaseNotifications(pool, { limit: 4, leaseMs: 60_000, gatherMs: 0 }))).toEqual(fair);
    expect(ofTurn(await leaseEmails(pool, 4, 60_000))).toEqual(fair);
    expect(ofTurn(await leaseEmails(pool, 4, 60_000))).toEqual(Array(4).fill(noisy.workspaceId));
  });

  test('batches of quota counters', async () => {
    const service = await started();
    const raised: string[] = [];
    let calls = 0;
    service.limiter.raiseQuotas = async (uses) => {
      calls += 1;
      if (uses.some(({ workspaceId }) => workspaceId === 'ws_00001')) throw new Error('a counter has another type');
      raised.push(...uses.map(({ workspaceId }) => workspaceId));
    };
    await service.database.pool.query(
      `insert into alerts.request_counts
       select 'ws_' || to_char(n, 'FM00000'), 'live', 'month', date_trunc('month', now() at time zone 'UTC') at time zone 'UTC',
              1, 1, 0, 0, 0, 0, '{}', 0
         from generate_series(1, 1500) as n`,
    );
    service.loseMarkers();
    await waitUntil(() => raised.includes('ws_01500'), { what: 'the second batch' });
    expect(calls).toBeGreaterThan(1);
    await service.database.pool.query(
      `insert into alerts.request_counts
       select 'ws_00042', 'live', 'minute', date_trunc('minute', now()), 1, 1, 0, 0, 0, 0, '{}', 0`,
    );
    const monthMs = Date.UTC(new Date().getUTCFullYear(), new Date().getUTCMonth());
    const used = async (usedSinceMs: number) =>
      (await readQuotaUses(service.database.pool, monthMs, { after: undefined, usedSinceMs, limit: 10 })).map(
        ({ workspaceId }) => workspaceId,
      );
    expect(await used(Date.now() - 120_000)).toEqual(['ws_00042']);
    expect(await used(Date.now() + 120_000)).toEqual([]);
  });
});
