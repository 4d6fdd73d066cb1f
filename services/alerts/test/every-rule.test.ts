import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { AlertKind, IncidentState } from '@rms/proto/rms/alerts/v1/alert_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { perSuite, startSmtpReceiver, waitUntil } from '@rms/testkit';
import { emailsTo } from './read-email.ts';
import { deliveryCounts, requestCounts, startAlerts, type Tenant, waitForEvaluation } from './support.ts';

const minuteMs = 60_000;
const hourMs = 3_600_000;

/** Reports counts, keys and notices as the other services do, with a clock that the tests control. */
describe('Every kind of rule', () => {
  // The tenth of next month, so that no counts are expired and several days can pass before the month ends.
  const today = new Date();
  let nowMs = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 10, 12);
  const smtp = perSuite(startSmtpReceiver);
  const service = perSuite(() => startAlerts({ smtpUrl: smtp.url, now: () => nowMs }));

  const time = () => timestampFromMs(nowMs);
  const requests = (counts: object) => service.report({ requests: [{ ...requestCounts(counts), time: time() }] });
  const deliveries = (counts: object) => service.report({ deliveries: [{ ...deliveryCounts(counts), time: time() }] });
  const subjectsTo = (address: string) =>
    emailsTo(smtp, address).map(({ subject }) => subject.replace(' · Acme (live)', ''));
  const emailed = (address: string, subjects: readonly string[]) =>
    waitUntil(() => subjectsTo(address).length >= subjects.length, { what: subjects.join(', ') }).then(() =>
      expect(subjectsTo(address)).toEqual(subjects),
    );
  const incidentsOf = async (tenant: Tenant) =>
    (await service.alerts.listIncidents({ ...tenant, pageSize: 100 })).incidents;

  /** Makes delayed recovery notifications due. */
  const reportRecoveries = () => service.database.pool.query('update alerts.notifications set due_at = now()');

  interface Way {
    readonly bad: (tenant: Tenant, subjectId: string) => unknown;
    /** Keeps the subject bad. By default it stays bad without an action. */
    readonly stays?: (tenant: Tenant, subjectId: string) => unknown;
    readonly good: (tenant: Tenant, subjectId: string) => unknown;
  }
  /** Lets the rule's window pass, and then the healthy time that closes the incident. */
  const windowPasses = async (tenant: Tenant) => {
    nowMs += 20 * minuteMs;
    await waitForEvaluation(service.database, tenant);
    nowMs += 6 * minuteMs;
  };
  const ways: readonly (readonly [title: string, kind: AlertKind, way: Way])[] = [
    [
      'API requests fail',
      AlertKind.API_ERROR_RATE,
      {
        bad: (tenant) => requests({ ...tenant, requests: 200, admitted: 200, clientErrors: 30, serverErrors: 10 }),
        stays: (tenant) => requests({ ...tenant, requests: 50, admitted: 50, serverErrors: 5 }),
        good: windowPasses,
      },
    ],
    [
      'Many delivery attempts fail: hooks.example.com/orders?key=1',
      AlertKind.DELIVERY_FAILURE_RATE,
      {
        bad: (tenant, webhookId) =>
          deliveries({ ...tenant, webhookId, attempts: 20, failedAttempts: 10, failuresAtEnd: 0, delivered: 10 }),
        stays: (tenant, webhookId) =>
          deliveries({ ...tenant, webhookId, attempts: 20, failedAttempts: 20, failuresAtEnd: 0 }),
        good: windowPasses,
      },
    ],
    [
      'Consecutive delivery attempts failed: hooks.example.com/orders?key=1',
      AlertKind.DELIVERY_FAILURES_IN_A_ROW,
      {
        bad: (tenant, webhookId) => deliveries({ ...tenant, webhookId, attempts: 3, failedAttempts: 3 }),
        stays: (tenant, webhookId) => deliveries({ ...tenant, webhookId, attempts: 1, failedAttempts: 1 }),
        good: (tenant, webhookId) => deliveries({ ...tenant, webhookId, attempts: 1, delivered: 1 }),
      },
    ],
    [
      'Webhook disabled: hooks.example.com/orders?key=1',
      AlertKind.WEBHOOK_DISABLED,
      {
        bad: (tenant, webhookId) => service.notify(tenant, 'webhook.disabled', webhookId, { atMs: nowMs }),
        good: (tenant, webhookId) => service.notify(tenant, 'webhook.enabled', webhookId, { atMs: nowMs }),
      },
    ],
    [
      'The rate limit rejects requests',
      AlertKind.RATE_LIMITED,
      {
        bad: (tenant) => requests({ ...tenant, requests: 50, clientErrors: 50, rateLimited: 50 }),
        stays: (tenant) => requests({ ...tenant, requests: 60, clientErrors: 60, rateLimited: 60 }),
        good: windowPasses,
      },
    ],
    [
      'API key expires soon: nightly',
      AlertKind.KEY_EXPIRY,
      {
        bad: ({ workspaceId }, id) =>
          service.auth.setKeys({
            ...{ id, workspaceId, environment: Environment.LIVE, name: 'nightly' },
            expireTime: timestampFromMs(nowMs + 6.9 * 24 * hourMs),
          }),
        good: () => service.auth.setKeys(),
      },
    ],
    [
      'Monthly quota: nearly used up',
      AlertKind.QUOTA,
      {
        bad: (tenant) => requests({ ...tenant, requests: 80, admitted: 80, monthlyQuota: 100 }),
        good: () => {
          const now = new Date(nowMs);
          nowMs = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + 1, 1, 0, 1);
        },
      },
    ],
  ];

  test('is covered by these tests', () => {
    const kinds = Object.values(AlertKind).filter((kind) => typeof kind === 'number' && kind !== 0);
    expect(new Set(ways.map(([, kind]) => kind))).toEqual(new Set(kinds));
  });

  test.each(ways)(
    '%s (%s): one email when it opens, one a day later, one when it recovers',
    async (title, kind, way) => {
      const { tenant, owner } = service.newOwner();
      const subjectId = newId('wh');
      const evaluated = () => waitForEvaluation(service.database, tenant);
      await way.bad(tenant, subjectId);
      await emailed(owner, [title]);

      nowMs += 23 * hourMs;
      await way.stays?.(tenant, subjectId);
      await evaluated();
      expect(await incidentsOf(tenant)).toMatchObject([{ kind, state: IncidentState.OPEN, notices: 1 }]);
      nowMs += 2 * hourMs;
      await way.stays?.(tenant, subjectId);
      await evaluated();
      await emailed(owner, [title, `Ongoing: ${title}`]);

      await way.good(tenant, subjectId);
      await waitUntil(
        async () => {
          await evaluated();
          return (await incidentsOf(tenant))[0]?.state === IncidentState.RECOVERED;
        },
        { what: 'the recovery' },
      );
      await reportRecoveries();
      await emailed(owner, [title, `Ongoing: ${title}`, `Recovered: ${title}`]);
      expect(await incidentsOf(tenant)).toMatchObject([{ kind, state: IncidentState.RECOVERED, notices: 2 }]);
      expect(await incidentsOf({ ...tenant, environment: Environment.SANDBOX })).toEqual([]);
    },
  );

  test('a webhook that fluctuates for an hour causes two emails: its failure, and its recovery when it lasts', async () => {
    const { tenant, owner } = service.newOwner();
    const webhookId = newId('wh');
    const object = 'hooks.example.com/orders?key=1';
    for (let minute = 0; minute < 60; minute += 2) {
      await deliveries({ ...tenant, webhookId, attempts: 3, failedAttempts: 3 });
      await waitForEvaluation(service.database, tenant);
      nowMs += minuteMs;
      await deliveries({ ...tenant, webhookId, attempts: 1, delivered: 1 });
      await waitForEvaluation(service.database, tenant);
      nowMs += minuteMs;
    }
    await emailed(owner, [`Consecutive delivery attempts failed: ${object}`]);
    for (const minutes of [20, 6]) {
      nowMs += minutes * minuteMs;
      await waitForEvaluation(service.database, tenant);
    }
    const rules = (await incidentsOf(tenant)).map(({ kind, state }) => [kind, state]);
    const [row, share] = [AlertKind.DELIVERY_FAILURES_IN_A_ROW, AlertKind.DELIVERY_FAILURE_RATE];
    expect(rules.filter(([kind]) => kind === row)).toEqual([
      [row, IncidentState.RECOVERED],
      [row, IncidentState.RECOVERED],
    ]);
    expect(rules.filter(([kind]) => kind === share)).toEqual([[share, IncidentState.RECOVERED]]);
    await reportRecoveries();
    const { pool } = service.database;
    await waitUntil(
      async () =>
        (await pool.query('select from alerts.notifications where workspace_id = $1', [tenant.workspaceId]))
          .rowCount === 0,
      { what: 'all notifications to be processed' },
    );
    await emailed(owner, [
      `Consecutive delivery attempts failed: ${object}`,
      `Recovered: Consecutive delivery attempts failed: ${object}`,
    ]);
  });

  test('the second failure rule of a webhook notifies only recipients whom the first has not notified', async () => {
    const { tenant, owner } = service.newOwner();
    // A workspace member, who need not confirm.
    const onCall = 'viewer@example.com';
    await service.alerts.updateRule({
      ...tenant,
      kind: AlertKind.DELIVERY_FAILURE_RATE,
      recipients: { addresses: [onCall, owner.toUpperCase()] },
    });
    const webhookId = newId('wh');
    const object = 'hooks.example.com/orders?key=1';
    await deliveries({ ...tenant, webhookId, attempts: 3, failedAttempts: 3 });
    await emailed(owner, [`Consecutive delivery attempts failed: ${object}`]);
    await deliveries({ ...tenant, webhookId, attempts: 20, failedAttempts: 20 });
    await emailed(onCall, [`Many delivery attempts fail: ${object}`]);
    expect(subjectsTo(owner)).toHaveLength(1);
  });

  test('activity in the sandbox opens no live incident, and its emails name the sandbox', async () => {
    const { tenant, owner } = service.newOwner();
    const sandbox = { ...tenant, environment: Environment.SANDBOX };
    await requests({ ...sandbox, requests: 100, admitted: 100, serverErrors: 100 });
    await requests({ ...tenant, requests: 100, admitted: 100 });
    await waitForEvaluation(service.database, sandbox);
    await waitForEvaluation(service.database, tenant);
    await emailed(owner, ['API requests fail · Acme (sandbox)']);
    expect(await incidentsOf(tenant)).toEqual([]);
    expect(await incidentsOf(sandbox)).toMatchObject([{ kind: AlertKind.API_ERROR_RATE }]);
  });
});
