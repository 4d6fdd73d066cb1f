import { create } from '@bufbuild/protobuf';
import { newId } from '@rms/base/ids';
import { DelayReason, DeliverySchema, DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookHealthSchema } from '@rms/proto/rms/webhooks/v1/webhook_health_pb';
import { WebhookSchema } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { ownWorkspace, startDashboard, type TestDashboard } from './support.ts';

const id = newId('dlv');
const webhookId = newId('wh');
const { PENDING } = DeliveryStatus;

describe('statuses of deliveries', () => {
  let dashboard: TestDashboard;
  beforeAll(async () => {
    const delayed = { delayReason: DelayReason.RATE_LIMIT, nextAttemptTime: { seconds: 60n, nanos: 0 } };
    const waiting = create(DeliverySchema, { id, status: PENDING, createTime: { seconds: 1n }, ...delayed });
    dashboard = await startDashboard(
      {},
      {
        listDeliveries: () => ({ deliveries: [waiting] }),
        getDelivery: () => ({ delivery: waiting, requestBody: new Uint8Array(), traceId: '' }),
        getWebhook: () => ({ webhook: create(WebhookSchema, { id: webhookId, createTime: { seconds: 1n } }) }),
        batchGetWebhookHealth: () => ({ healths: [create(WebhookHealthSchema, { webhookId, ...delayed })] }),
      },
    );
  });
  afterAll(() => dashboard?.stop());
  const base = `/api/workspaces/${ownWorkspace}/live`;

  test('a delivery, the list and the health of the webhook contain the reason for a delay', async () => {
    const browser = await dashboard.signIn();
    const delayed = { delay_reason: 'rate_limit', next_attempt_at: '1970-01-01T00:01:00.000Z' };
    const read = async (path: string) => (await browser.send('GET', `${base}${path}`)).json();
    expect(await read('/deliveries')).toMatchObject({ data: [{ id, ...delayed }] });
    expect(await read(`/deliveries/${id}`)).toMatchObject({ data: { id, ...delayed } });
    expect(await read(`/webhooks/${webhookId}?full_health=true`)).toMatchObject({ data: { health: delayed } });
  });
});
