import { DeliveryDimension } from '@rms/proto/rms/alerts/v1/usage_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { loopbackOnly } from '@rms/rpc';
import { readSettings } from '@rms/runtime/settings';
import { perSuite, startReceiver, waitUntil } from '@rms/testkit';
import { createWebhooksContext } from '../../src/context.ts';
import { newEvent, newTenant, startWebhooks } from '../support.ts';

describe('Usage of attempts', () => {
  const service = perSuite(startWebhooks);

  test('is summed up per webhook and reported after attempts are recorded', async () => {
    const receiver = await startReceiver({ path: '' });
    const tenant = newTenant();
    const good = await service.webhooks.createWebhook({ ...tenant, url: `${receiver.url}/good`, events: ['*'] });
    const bad = await service.webhooks.createWebhook({ ...tenant, url: `${receiver.url}/bad`, events: ['*'] });
    const badId = bad.webhook?.id ?? '';
    receiver.respondWith(({ path }, response) => void response.writeHead(path.endsWith('/bad') ? 500 : 200).end());
    await service.webhooks.updateWebhook({ ...tenant, id: badId, retryPolicy: { maxRetries: 0 } });
    await service.publish(newEvent(tenant), newEvent(tenant), newEvent(tenant));
    await service.settled(tenant, 6);
    const sums = await waitUntil(
      () => {
        const counts = service.reported.flatMap(({ deliveries }) => deliveries);
        const of = (id = '') => counts.filter(({ webhookId }) => webhookId === id);
        const sum = (
          id: string | undefined,
          name: 'attempts' | 'failedAttempts' | 'delivered' | 'failed' | 'created',
        ) => of(id).reduce((total, one) => total + Number(one[name]), 0);
        const all = [good.webhook?.id, badId].map((id) => ({
          created: sum(id, 'created'),
          attempts: sum(id, 'attempts'),
          failedAttempts: sum(id, 'failedAttempts'),
          delivered: sum(id, 'delivered'),
          failed: sum(id, 'failed'),
          atEnd: Number(of(id).at(-1)?.failuresAtEnd),
          urls: new Set(of(id).map(({ url }) => url)),
          errors: new Set(of(id).map(({ lastError }) => lastError)),
        }));
        return all[0]?.attempts === 3 && all[1]?.attempts === 3 ? all : undefined;
      },
      { what: 'the reports' },
    );
    expect(sums[0]).toEqual({
      created: 3,
      attempts: 3,
      failedAttempts: 0,
      delivered: 3,
      failed: 0,
      atEnd: 0,
      urls: new Set([`${receiver.url}/good`]),
      errors: new Set(['']),
    });
    expect(sums[1]).toMatchObject({ created: 3, attempts: 3, failedAttempts: 3, delivered: 0, failed: 3 });
    expect(sums[1]?.errors).toEqual(new Set(['status: 500']));
    expect(sums[1]?.atEnd).toBeGreaterThan(0);
    await receiver.close();
  });
});

describe('Groups of deliveries', () => {
  const { OUTCOME, EVENT_TYPE } = DeliveryDimension;
  const service = perSuite(startWebhooks);

  test('are reported by event type and outcome, for deliveries that end without an attempt too', async () => {
    const receiver = await startReceiver({ path: '' });
    const tenant = newTenant();
    receiver.respondWith(({ path }, response) => void response.writeHead(path.endsWith('/bad') ? 429 : 200).end());
    await service.subscribe(tenant, `${receiver.url}/good`);
    const bad = await service.webhooks.createWebhook({ ...tenant, url: `${receiver.url}/bad`, events: ['*'] });
    const badId = bad.webhook?.id ?? '';
    await service.publish(newEvent(tenant), newEvent(tenant));
    await waitUntil(() => receiver.requests.length === 4, { what: 'the attempts' });
    await waitUntil(
      async () => {
        const { rows } = await service.database.pool.query(
          'select from webhooks.deliveries where webhook_id = $1 and tries = 1',
          [badId],
        );
        return rows.length === 2;
      },
      { what: 'the results' },
    );
    // Ends both deliveries; the next event is skipped.
    await service.webhooks.updateWebhook({ ...tenant, id: badId, status: WebhookStatus.DISABLED });
    await service.publish(newEvent(tenant));
    const sumsOf = (of: DeliveryDimension) => {
      const sums: Record<string, Record<string, number>> = {};
      for (const { dimension, name, counts } of service.reported.flatMap(({ deliveryGroups }) => deliveryGroups)) {
        if (dimension !== of || counts?.workspaceId !== tenant.workspaceId) continue;
        const sum = sums[name] ?? {};
        for (const field of ['created', 'skipped', 'attempts', 'delivered', 'failed'] as const)
          sum[field] = (sum[field] ?? 0) + Number(counts[field]);
        sums[name] = sum;
      }
      return sums;
    };
    const none = { created: 0, skipped: 0, attempts: 0, delivered: 0, failed: 0 };
    const outcomes = await waitUntil(
      () => {
        const sums = sumsOf(OUTCOME);
        return sums.success?.attempts === 3 && sums.none?.failed === 2 && sums.none.skipped === 1 && sums;
      },
      { what: 'the groups' },
    );
    expect(outcomes).toEqual({
      success: { ...none, attempts: 3, delivered: 3 },
      429: { ...none, attempts: 2 },
      none: { ...none, created: 5, skipped: 1, failed: 2 },
    });
    expect(sumsOf(EVENT_TYPE)).toEqual({
      'resource.created': { created: 5, skipped: 1, attempts: 5, delivered: 3, failed: 2 },
    });
    await receiver.close();
  });
});

test('Without an alerts address there is no usage client', () => {
  const none = {} as never;
  const overrides = { pool: none, keyedPool: none, bus: none, security: loopbackOnly, operational: {} };
  expect(createWebhooksContext(readSettings({ ALERTS_ADDRESS: 'none' }), overrides).usage).toBeUndefined();
});

test('Without alerts, attempts are recorded but not reported', async () => {
  const service = await startWebhooks({}, { hasAlerts: false });
  const receiver = await startReceiver({ path: '' });
  const tenant = newTenant();
  await service.subscribe(tenant, receiver.url);
  await service.publish(newEvent(tenant));
  await service.settled(tenant, 1);
  expect(service.reported).toEqual([]);
  await service.stop();
  await receiver.close();
});
