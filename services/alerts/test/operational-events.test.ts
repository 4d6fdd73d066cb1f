import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import { createClient } from '@rms/rpc';
import { perSuite, waitUntil } from '@rms/testkit';
import { requestCounts, startAlerts, type Tenant, waitForEvaluation } from './support.ts';

describe('operational events of alerts', () => {
  const service = perSuite(startAlerts);
  const events = perSuite(
    async () => createClient(OperationalEventsService, { target: service.address, timeoutMs: 60_000 }),
    { end: (client) => client.close() },
  );

  const eventsOf = async ({ workspaceId }: Tenant) => {
    const { events: all } = await events.listOperationalEvents({ limit: 500 });
    return all
      .filter((event) => event.workspaceId === workspaceId)
      .map(({ type, resourceId, body }) => ({
        type,
        resourceId,
        object: JSON.parse(Buffer.from(body).toString('utf8')).data.object as Record<string, unknown>,
      }));
  };
  const untilCount = (tenant: Tenant, count: number) =>
    waitUntil(
      async () => {
        const found = await eventsOf(tenant);
        return found.length === count && found;
      },
      { what: `${count} events` },
    );
  const use = (tenant: Tenant, admitted: number) =>
    service.report({ requests: [requestCounts({ ...tenant, requests: admitted, admitted, monthlyQuota: 100 })] });

  test('quota.warning and quota.exceeded: once each, with usage and quota', async () => {
    const { tenant } = service.newOwner();
    const id = tenant.workspaceId;
    await use(tenant, 80);
    await untilCount(tenant, 1);
    await use(tenant, 5);
    await waitForEvaluation(service.database, tenant);
    await use(tenant, 20);
    const found = await untilCount(tenant, 2);
    await waitForEvaluation(service.database, tenant);
    expect(await eventsOf(tenant)).toEqual(found);
    const workspace = { id, type: 'workspace', environment: 'live', limits: { requests_per_month: 100 } };
    expect(found).toMatchObject([
      { type: 'quota.warning', resourceId: id, object: { ...workspace, usage: { requests: 80 } } },
      { type: 'quota.exceeded', resourceId: id, object: { ...workspace, usage: { requests: 105 } } },
    ]);
  });

  test('a disabled rule sends its events once, also when it is enabled later', async () => {
    const { tenant } = service.newOwner();
    const set = (enabled: boolean) =>
      Promise.all(
        [AlertKind.QUOTA, AlertKind.KEY_EXPIRY].map((kind) => service.alerts.updateRule({ ...tenant, kind, enabled })),
      );
    await set(false);
    await use(tenant, 80);
    const expireTime = timestampFromMs(Date.now() + 6 * 86_400_000);
    const key = { workspaceId: tenant.workspaceId, environment: Environment.LIVE, id: 'key_soon', name: 'nightly' };
    service.auth.setKeys({ ...key, expireTime, version: 3n });
    const found = await untilCount(tenant, 2);
    expect(found.map(({ type }) => type).sort()).toEqual(['api_key.expiring', 'quota.warning']);
    expect((await service.alerts.listIncidents({ ...tenant, pageSize: 10 })).incidents).toEqual([]);
    await set(true);
    await waitForEvaluation(service.database, tenant);
    expect((await service.alerts.listIncidents({ ...tenant, pageSize: 10 })).incidents).toHaveLength(2);
    expect(await eventsOf(tenant)).toEqual(found);
  });

  test('api_key.expiring: once, with the key as the API returns it', async () => {
    const { tenant } = service.newOwner();
    const expireTime = timestampFromMs(Date.now() + 6 * 86_400_000);
    const key = { workspaceId: tenant.workspaceId, environment: Environment.LIVE, id: 'key_soon', name: 'nightly' };
    service.auth.setKeys({ ...key, expireTime, version: 3n });
    const [event] = await untilCount(tenant, 1);
    expect(event).toMatchObject({
      type: 'api_key.expiring',
      resourceId: 'key_soon',
      object: { id: 'key_soon', type: 'api_key', name: 'nightly', status: 'active', version: 3 },
    });
    await waitForEvaluation(service.database, tenant);
    expect(await eventsOf(tenant)).toHaveLength(1);
  });

  test('events are listed until they are deleted', async () => {
    const { tenant } = service.newOwner();
    await use(tenant, 100);
    await untilCount(tenant, 1);
    const { events: all } = await events.listOperationalEvents({ limit: 500 });
    await events.deleteOperationalEvents({
      events: all.map(({ workspaceId, environment, id }) => ({ workspaceId, environment, id })),
    });
    expect(await eventsOf(tenant)).toEqual([]);
    for (const limit of [0, 501])
      await expect(events.listOperationalEvents({ limit })).rejects.toMatchObject({ code: 'invalid_request' });
  });
});
