import { newId } from '@rms/base/ids';
import { perSuite, startSmtpReceiver, waitUntil } from '@rms/testkit';
import { FakeAuth } from './fake-auth.ts';
import { alertsDatabase, deliveryCounts, newTenant, startAlerts } from './support.ts';

describe('Several instances on one database', () => {
  const smtp = perSuite(startSmtpReceiver);

  test('open each incident once and send each email once', async () => {
    const given = await alertsDatabase();
    const auth = new FakeAuth();
    const instances = await Promise.all(
      [1, 2, 3].map(() => startAlerts({ given, auth, smtpUrl: smtp.url, evaluateEveryMs: 20 })),
    );
    const tenants = Array.from({ length: 20 }, () => newTenant());
    for (const { workspaceId } of tenants) {
      auth.addWorkspace(workspaceId, 'Shared', `${workspaceId.slice(3).toLowerCase()}@example.com`);
    }
    await Promise.all(
      instances.map(({ usage }, i) =>
        usage.reportUsage({
          reporterId: `reporter ${i}`,
          sequence: 1n,
          deliveries: tenants.map((tenant) =>
            deliveryCounts({ ...tenant, webhookId: `wh_${tenant.workspaceId}`, attempts: 2, failedAttempts: 2 }),
          ),
        }),
      ),
    );
    await smtp.received(20);
    const incidents = async () =>
      (await given.pool.query('select workspace_id, count(*)::int from alerts.incidents group by 1')).rows;
    await waitUntil(async () => (await given.pool.query('select from alerts.notifications')).rowCount === 0, {
      what: 'all notifications to be sent',
    });
    expect((await incidents()).map(({ count }) => count)).toEqual(Array(20).fill(1));
    expect(smtp.emails()).toHaveLength(20);
    expect(new Set(smtp.emails().flatMap(({ to }) => to)).size).toBe(20);
    await Promise.all(instances.map((instance) => instance.stop()));
    await given.drop();
  });

  test('count a report only once if it is repeated to another instance', async () => {
    const given = await alertsDatabase();
    const [one, other] = [await startAlerts({ given }), await startAlerts({ given })];
    const tenant = newTenant();
    const deliveries = [deliveryCounts({ ...tenant, webhookId: newId('wh'), attempts: 1, failedAttempts: 1 })];
    await Promise.all(
      [one, other].map(({ usage }) => usage.reportUsage({ reporterId: 'r', sequence: 1n, deliveries })),
    );
    const { rows } = await given.pool.query('select failures from alerts.webhook_runs');
    expect(rows).toEqual([{ failures: '1' }]);
    await one.stop();
    await other.stop();
    await given.drop();
  });
});
