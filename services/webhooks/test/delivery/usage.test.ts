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
        const sum = (id: string | undefined, name: 'attempts' | 'failedAttempts' | 'delivered' | 'failed') =>
          of(id).reduce((total, one) => total + Number(one[name]), 0);
        const all = [good.webhook?.id, badId].map((id) => ({
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
      attempts: 3,
      failedAttempts: 0,
      delivered: 3,
      failed: 0,
      atEnd: 0,
      urls: new Set([`${receiver.url}/good`]),
      errors: new Set(['']),
    });
    expect(sums[1]).toMatchObject({ attempts: 3, failedAttempts: 3, delivered: 0, failed: 3 });
    expect(sums[1]?.errors).toEqual(new Set(['status: 500']));
    expect(sums[1]?.atEnd).toBeGreaterThan(0);
    await receiver.close();
  });
});

test('Without an alerts address there is no usage client', () => {
  const none = {} as never;
  const overrides = { pool: none, keyedPool: none, bus: none, security: loopbackOnly };
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
