import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { RequestSchema } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { DeliverySchema } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { EventPassageSchema } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import type { RequestDocument } from '../src/documents/request.ts';
import { ownWorkspace, startDashboard } from './support.ts';

const startMs = Date.parse('2026-03-04T05:06:07.000Z');
const at = (ms: number) => timestampFromMs(startMs + ms);

test('a request, its answer, its events, deliveries and attempts are one line of time', async () => {
  const dashboard = await startDashboard(
    { TRACE_URL: 'https://traces.example.com/trace/{trace_id}' },
    {
      listRequests: () => ({
        requests: [
          create(RequestSchema, {
            startTime: at(0),
            method: 'POST',
            route: '/v1/resources',
            status: 201,
            durationMs: 4.126,
            authenticatedMs: 1,
            limitedMs: 1.5,
            handledMs: 4,
            keyHint: 'sk_live_Ab…yz12',
            keyName: 'ci',
            traceId: 'a'.repeat(32),
          }),
        ],
      }),
      listEventsOfRequest: () => ({
        events: [
          create(EventPassageSchema, {
            id: 'evt_1',
            type: 'resource.created',
            resourceId: 'res_1',
            createTime: at(3),
            storeTime: at(9),
            position: 7n,
            traceId: 'a'.repeat(32),
          }),
        ],
      }),
      listDeliveries: () => ({
        deliveries: [
          create(DeliverySchema, {
            id: 'dlv_1',
            eventId: 'evt_1',
            eventType: 'resource.created',
            webhookId: 'wh_1',
            createTime: at(10),
            attempts: [
              { startTime: at(11), statusCode: 500, error: 'status: 500', durationMs: 20 },
              { startTime: at(70), statusCode: 200, durationMs: 30 },
            ],
          }),
        ],
      }),
    },
  );
  try {
    const browser = await dashboard.signIn();
    const answer = await browser.send('GET', `/api/workspaces/${ownWorkspace}/live/requests?id=req_1`);
    const { steps, traces } = (await answer.json()) as RequestDocument;
    expect(steps.map(({ what, tone }) => [what, tone])).toEqual([
      ['POST /v1/resources, with the key sk_live_Ab…yz12 (ci)', 'plain'],
      ['resource.created evt_1 of res_1 committed', 'plain'],
      ['answered 201 after 4.13 ms (key 1 ms, limits 0.5 ms, work 2.5 ms)', 'good'],
      ['evt_1 is number 7 of the feed', 'plain'],
      ['resource.created for wh_1', 'plain'],
      ['attempt 1 to wh_1: 500 in 20 ms', 'bad'],
      ['attempt 2 to wh_1: 200 in 30 ms', 'good'],
    ]);
    expect(steps.map(({ delivery_id: id }) => id)).toEqual([null, null, null, null, 'dlv_1', 'dlv_1', 'dlv_1']);
    expect(traces).toEqual([{ id: 'a'.repeat(32), url: `https://traces.example.com/trace/${'a'.repeat(32)}` }]);
    // Both environments are never asked for at once.
    const asked = dashboard.recorded.filter(({ method }) => /^list/.test(method)).map(({ request }) => request);
    for (const request of asked) expect(request).toMatchObject({ workspaceId: ownWorkspace, environment: 1 });
  } finally {
    await dashboard.stop();
  }
});

test.each(['traces.example.com/{trace_id}', 'https://traces.example.com/', 'javascript:{trace_id}'])(
  'TRACE_URL=%s ends the start in one line',
  async (url) => {
    await expect(startDashboard({ TRACE_URL: url })).rejects.toThrow(`TRACE_URL: "${url}"`);
  },
);
