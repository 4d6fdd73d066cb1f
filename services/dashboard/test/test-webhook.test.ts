import { create } from '@bufbuild/protobuf';
import { AttemptSchema } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { ownWorkspace, startDashboard } from './support.ts';

test('a test event returns the body that was sent and the response', async () => {
  const attempt = create(AttemptSchema, { number: 1, statusCode: 200, durationMs: 3 });
  const dashboard = await startDashboard(
    {},
    { testWebhook: () => ({ attempt, requestBody: '{"id":"evt_1"}', responseBody: 'thanks' }) },
  );
  try {
    const browser = await dashboard.signIn();
    const response = await browser.send('POST', `/api/workspaces/${ownWorkspace}/live/webhooks/wh_1/test`, {
      body: {},
    });
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      status_code: 200,
      request_body: '{"id":"evt_1"}',
      response_body: { text: 'thanks' },
    });
  } finally {
    await dashboard.stop();
  }
});
