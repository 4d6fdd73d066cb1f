import { create } from '@bufbuild/protobuf';
import { AttemptSchema } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { ownWorkspace, startDashboard } from './support.ts';

const base = `/api/workspaces/${ownWorkspace}/live`;

test('a test event has the chosen type and returns its delivery, the body that was sent and the response', async () => {
  const attempt = create(AttemptSchema, { number: 1, statusCode: 200, durationMs: 3 });
  const dashboard = await startDashboard(
    {},
    {
      testWebhook: () => ({ attempt, requestBody: '{"id":"evt_1"}', responseBody: 'thanks', deliveryId: 'dlv_1' }),
    },
  );
  try {
    const browser = await dashboard.signIn();
    const response = await browser.send('POST', `${base}/webhooks/wh_1/test`, {
      body: { event_type: 'resource.deleted' },
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      delivery_id: 'dlv_1',
      status_code: 200,
      request_body: '{"id":"evt_1"}',
      response_body: { text: 'thanks' },
    });
    const call = dashboard.recorded.find(({ method }) => method === 'testWebhook');
    expect(call?.request).toMatchObject({ id: 'wh_1', eventType: 'resource.deleted' });
  } finally {
    await dashboard.stop();
  }
});

test.each([
  ['', undefined],
  ['?test=1', true],
  ['?test=0', false],
])('GET /deliveries%s asks for test deliveries: %j', async (query, expected) => {
  const dashboard = await startDashboard();
  try {
    const browser = await dashboard.signIn();
    await browser.send('GET', `${base}/deliveries${query}`);
    const call = dashboard.recorded.find(({ method }) => method === 'listDeliveries');
    const { test: asked } = (call?.request ?? {}) as { test?: boolean };
    expect(asked).toBe(expected);
  } finally {
    await dashboard.stop();
  }
});
