import { create } from '@bufbuild/protobuf';
import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import type { Timeline } from '@rms/api';
import { RmsError } from '@rms/base/errors';
import { newId } from '@rms/base/ids';
import { AuditEntrySchema } from '@rms/proto/rms/auth/v1/audit_service_pb';
import { RequestSchema } from '@rms/proto/rms/auth/v1/requests_service_pb';
import { Role } from '@rms/proto/rms/auth/v1/user_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { DeliverySchema } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { disposable, waitUntil } from '@rms/testkit';
import { ownWorkspace, startDashboard } from './support.ts';

const startTime = timestampFromMs(Date.parse('2026-03-04T05:06:07.000Z'));
const entry = (id: string, action: string) =>
  create(AuditEntrySchema, { id, time: startTime, targetId, action, actor: 'user:usr_gone', requestId });
const requestId = newId('req');
const targetId = newId('dlv');

/** Responds with a request, its delivery, its change, and a redelivery. */
const known = {
  listRequests: () => ({
    requests: [
      create(RequestSchema, {
        environment: Environment.LIVE,
        startTime,
        method: 'PATCH',
        status: 200,
        actor: 'user:usr_1',
      }),
    ],
  }),
  listEventsOfRequest: () => ({ events: [] }),
  listDeliveries: () => ({ deliveries: [create(DeliverySchema, { id: targetId, createTime: startTime })] }),
  listAuditEntries: ({ action }: { action?: string }) => ({
    entries: [action === undefined ? entry('aud_1', 'resource.updated') : entry('aud_2', 'delivery.redelivered')],
  }),
  listMembers: () => ({ members: [{ userId: 'usr_1', email: 'person@example.com' }] }),
};

test.each([
  ['OWNER', ['resource.updated', 'delivery.redelivered']],
  ['VIEWER', []],
] as const)('the timeline names members by email; the role %s sees the audit entries %j', async (role, shown) => {
  await using dashboard = disposable(
    await startDashboard({ TRACE_URL: 'https://traces.example.com/trace/{trace_id}' }, known),
  );
  dashboard.account.workspaces = { [ownWorkspace]: Role[role] };
  const browser = await dashboard.signIn();
  const base = `/api/workspaces/${ownWorkspace}/live`;
  const { data } = (await (await browser.send('GET', `${base}/requests/${requestId}`)).json()) as { data: Timeline };
  expect(data.audit_entries.map(({ action }) => action)).toEqual(shown);
  const texts = data.steps.map(({ text }) => text);
  expect(texts[0]).toBe('PATCH (no route) in live by person@example.com');
  // Everybody sees who redelivered.
  expect(texts.at(-1)).toBe(`delivery.redelivered ${targetId} by user:usr_gone`);
  // Queries never span both environments.
  const requested = dashboard.recorded.filter(({ method }) => /^list(?!AuditEntries|Members)/.test(method));
  for (const { request } of requested) expect(request).toMatchObject({ workspaceId: ownWorkspace, environment: 1 });
  expect(await (await browser.send('GET', `${base}/limits`)).json()).toMatchObject({
    trace_url: 'https://traces.example.com/trace/{trace_id}',
  });
});

test('changes by users are reported to the request log, reads and rejected calls are not', async () => {
  await using dashboard = disposable(await startDashboard({ TRUSTED_PROXIES: '127.0.0.0/8' }));
  const browser = await dashboard.signIn();
  const base = `/api/workspaces/${ownWorkspace}/sandbox`;
  await browser.send('GET', `${base}/webhooks`);
  await browser.send('DELETE', `${base}/webhooks/wh_1`, { headers: { 'X-CSRF-Token': 'wrong' } });
  const headers = { 'X-Forwarded-For': '198.51.100.7, 203.0.113.7' };
  const response = await browser.send('DELETE', `${base}/webhooks/wh_1`, { headers });
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
            // As for API keys, so that a search finds both.
            route: '/v1/webhooks/:id',
            status: response.status,
            actor: 'user:usr_1',
            // The nearest address that is not a trusted proxy's, as at gateways.
            clientAddress: '203.0.113.7',
          },
        ],
      },
      options: { context: { actor: 'user:usr_1' } },
    },
  ]);
});

test('a failed report is counted', async () => {
  const batchReportRequests = () => Promise.reject(new RmsError('service_unavailable'));
  await using dashboard = disposable(await startDashboard({}, { batchReportRequests }));
  const browser = await dashboard.signIn();
  await browser.send('DELETE', `/api/workspaces/${ownWorkspace}/live/webhooks/wh_1`);
  await waitUntil(
    async () => (await dashboard.metrics()).includes('rms_request_records_lost_total{service="dashboard"} 1'),
    {
      what: 'the count of lost records',
    },
  );
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
