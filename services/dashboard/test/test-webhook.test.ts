import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { newId } from '@rms/base/ids';
import { AttemptSchema } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { disposable } from '@rms/testkit';
import { ownWorkspace, startDashboard } from './support.ts';

test('a test event has the chosen type and returns its delivery, the body that was sent and the response', async () => {
  const responseBody = Buffer.from('thanks');
  const attempt = create(AttemptSchema, { number: 1, startTime: timestampFromMs(0), statusCode: 200, responseBody });
  await using dashboard = disposable(
    await startDashboard(
      {},
      {
        testWebhook: () => ({
          attempt,
          requestBody: '{"id":"evt_1"}',
          url: 'https://example.com',
          deliveryId: 'dlv_1',
        }),
      },
    ),
  );
  const browser = await dashboard.signIn();
  const id = newId('wh');
  const response = await browser.send('POST', `/api/workspaces/${ownWorkspace}/live/webhooks/${id}/test`, {
    body: { event_type: 'resource.deleted' },
  });
  expect(response.status).toBe(200);
  expect(await response.json()).toMatchObject({
    data: {
      delivery_id: 'dlv_1',
      request: { body: '{"id":"evt_1"}' },
      response: { status: 200, body: 'thanks', body_encoding: 'utf-8' },
    },
  });
  const call = dashboard.recorded.find(({ method }) => method === 'testWebhook');
  expect(call?.request).toMatchObject({ id, eventType: 'resource.deleted' });
});
