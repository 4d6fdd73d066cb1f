import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { RmsError } from '@rms/errors';
import { AuditEntrySchema } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { RequestSchema } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { DeliverySchema } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { EventProgressSchema } from '@rms/proto/rms/webhooks/v1/events_service_pb';
import { waitUntil } from '@rms/testkit';
import type { RequestDocument } from '../src/documents/request.ts';
import { ownWorkspace, startDashboard } from './support.ts';

const startMs = Date.parse('2026-03-04T05:06:07.000Z');
const at = (ms: number) => timestampFromMs(startMs + ms);

test('a request, its response, events, deliveries and attempts form one timeline', async () => {
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
          create(EventProgressSchema, {
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
              { number: 1, startTime: at(11), statusCode: 500, error: 'status: 500', durationMs: 20 },
              { number: 2, startTime: at(70), statusCode: 200, durationMs: 30 },
            ],
          }),
        ],
      }),
      listAuditEntries: () => ({ entries: [] }),
    },
  );
  try {
    const browser = await dashboard.signIn();
    const response = await browser.send('GET', `/api/workspaces/${ownWorkspace}/live/requests?id=req_1`);
    const { steps, traces } = (await response.json()) as RequestDocument;
    expect(steps.map(({ what, tone }) => [what, tone])).toEqual([
      ['POST /v1/resources, with key sk_live_Ab…yz12 (ci)', 'plain'],
      ['resource.created evt_1 of res_1 committed', 'plain'],
      ['responded 201 after 4.13 ms (key 1 ms, limits 0.5 ms, work 2.5 ms)', 'good'],
      ['evt_1 stored in the feed with sequence 7', 'plain'],
      ['resource.created for wh_1', 'plain'],
      ['attempt 1 to wh_1: 500 in 20 ms', 'bad'],
      ['attempt 2 to wh_1: 200 in 30 ms', 'good'],
    ]);
    expect(steps.map(({ delivery_id: id }) => id)).toEqual([null, null, null, null, 'dlv_1', 'dlv_1', 'dlv_1']);
    expect(traces).toEqual([{ id: 'a'.repeat(32), url: `https://traces.example.com/trace/${'a'.repeat(32)}` }]);
    // Queries never span both environments. The audit log is read for deliveries of this environment.
    const requested = dashboard.recorded
      .filter(({ method }) => /^list(?!AuditEntries|Members)/.test(method))
      .map(({ request }) => request);
    for (const request of requested) expect(request).toMatchObject({ workspaceId: ownWorkspace, environment: 1 });
  } finally {
    await dashboard.stop();
  }
});

test('names the users who made a change and redelivered its deliveries', async () => {
  const dashboard = await startDashboard(
    {},
    {
      listRequests: () => ({
        requests: [
          create(RequestSchema, {
            startTime: at(0),
            method: 'PATCH',
            route: '/api/workspaces/{workspace}/{environment}/resources/{id}',
            status: 200,
            durationMs: 4,
            actor: 'user:usr_1',
          }),
        ],
      }),
      listEventsOfRequest: () => ({
        events: [
          create(EventProgressSchema, {
            id: 'evt_1',
            type: 'resource.updated',
            resourceId: 'res_1',
            createTime: at(3),
            actor: 'user:usr_1',
          }),
        ],
      }),
      listDeliveries: () => ({
        deliveries: [create(DeliverySchema, { id: 'dlv_1', eventType: 'resource.updated', createTime: at(10) })],
      }),
      listAuditEntries: ({ targetIds, action }: { targetIds: string[]; action: string }) => ({
        entries:
          targetIds.includes('dlv_1') && action === 'delivery.redelivered'
            ? [create(AuditEntrySchema, { time: at(20), targetId: 'dlv_1', actor: 'user:usr_gone' })]
            : [],
      }),
      listMembers: () => ({ members: [{ userId: 'usr_1', email: 'person@example.com' }] }),
    },
  );
  try {
    const browser = await dashboard.signIn();
    const response = await browser.send('GET', `/api/workspaces/${ownWorkspace}/live/requests?id=req_1`);
    const { steps } = (await response.json()) as RequestDocument;
    expect(steps.map(({ what }) => what)).toEqual([
      'PATCH /api/workspaces/{workspace}/{environment}/resources/{id}, by person@example.com',
      'resource.updated evt_1 of res_1 committed by person@example.com',
      'responded 200 after 4 ms',
      expect.stringContaining('resource.updated for'),
      'dlv_1 redelivered by user:usr_gone',
    ]);
  } finally {
    await dashboard.stop();
  }
});

test('changes by users are reported to the request log, reads and rejected calls are not', async () => {
  const dashboard = await startDashboard();
  try {
    const browser = await dashboard.signIn();
    const base = `/api/workspaces/${ownWorkspace}/sandbox`;
    await browser.send('GET', `${base}/webhooks`);
    await browser.send('DELETE', `${base}/webhooks/wh_1`, { headers: { 'X-CSRF-Token': 'wrong' } });
    const response = await browser.send('DELETE', `${base}/webhooks/wh_1`);
    const reports = () => dashboard.recorded.filter(({ method }) => method === 'batchReportRequests');
    await waitUntil(() => reports().length > 0, { what: 'the report' });
    expect(reports()).toMatchObject([
      {
        request: {
          requests: [
            {
              workspaceId: ownWorkspace,
              environment: 2,
              requestId: response.headers.get('x-request-id'),
              method: 'DELETE',
              route: '/api/workspaces/{workspace}/{environment}/webhooks/{id}',
              status: response.status,
              actor: 'user:usr_1',
            },
          ],
        },
        options: { context: { actor: 'user:usr_1' } },
      },
    ]);
  } finally {
    await dashboard.stop();
  }
});

test('a failed report is counted', async () => {
  const batchReportRequests = () => Promise.reject(new RmsError('service_unavailable'));
  const dashboard = await startDashboard({}, { batchReportRequests });
  try {
    const browser = await dashboard.signIn();
    await browser.send('DELETE', `/api/workspaces/${ownWorkspace}/live/webhooks/wh_1`);
    await waitUntil(
      async () => (await dashboard.metrics()).includes('rms_request_records_lost_total{service="dashboard"} 1'),
      {
        what: 'the count of lost records',
      },
    );
  } finally {
    await dashboard.stop();
  }
});

test('REQUEST_LOG=none reports nothing', async () => {
  const dashboard = await startDashboard({ REQUEST_LOG: 'none' });
  const browser = await dashboard.signIn();
  await browser.send('DELETE', `/api/workspaces/${ownWorkspace}/live/webhooks/wh_1`);
  // Stopping waits for reports.
  await dashboard.stop();
  expect(dashboard.recorded.map(({ method }) => method)).not.toContain('batchReportRequests');
});

test.each(['traces.example.com/{trace_id}', 'https://traces.example.com/', 'javascript:{trace_id}'])(
  'TRACE_URL=%s is rejected at startup',
  async (url) => {
    await expect(startDashboard({ TRACE_URL: url })).rejects.toThrow(`TRACE_URL: "${url}"`);
  },
);
