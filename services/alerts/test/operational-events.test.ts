import { timestampFromMs } from '@bufbuild/protobuf/wkt';
import { AlertKind } from '@rms/proto/rms/alerts/v1/alert_pb';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { OperationalEventsService } from '@rms/proto/rms/events/v1/operational_events_service_pb';
import { createClient } from '@rms/rpc';
import { perSuite, waitUntil } from '@rms/testkit';
import { requestCounts, startAlerts, type Tenant, waitForEvaluation } from './support.ts';

const dayMs = 86_400_000;

describe('operational events of alerts', () => {
  // The tenth of next month, so that several days can pass before the month ends.
  const today = new Date();
  const tenthMs = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 1, 10, 12);
  let nowMs = tenthMs;
  const service = perSuite(() => startAlerts({ now: () => nowMs }));
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
  const use = (tenant: Tenant, admitted: number) => {
    const counts = requestCounts({ ...tenant, requests: admitted, admitted, monthlyQuota: 100 });
    return service.report({ requests: [{ ...counts, time: timestampFromMs(nowMs) }] });
  };

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
    const expireTime = timestampFromMs(nowMs + 6 * dayMs);
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
    const expireTime = timestampFromMs(nowMs + 6 * dayMs);
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

  test('a threshold that is reached again sends an event if it was not reached for a day', async () => {
    const { tenant } = service.newOwner();
    const setThreshold = async (threshold: number) => {
      await service.alerts.updateRule({ ...tenant, kind: AlertKind.QUOTA, threshold });
      await waitForEvaluation(service.database, tenant);
    };
    await use(tenant, 85);
    await untilCount(tenant, 1);
    await setThreshold(0.9);
    nowMs += 0.99 * dayMs;
    await setThreshold(0.8);
    await setThreshold(0.9);
    nowMs += 0.99 * dayMs;
    await waitForEvaluation(service.database, tenant);
    expect(await eventsOf(tenant)).toHaveLength(1);
    nowMs += 0.02 * dayMs;
    await setThreshold(0.8);
    expect(await eventsOf(tenant)).toHaveLength(2);
    await setThreshold(0.9);
    nowMs += dayMs;
    await waitForEvaluation(service.database, tenant);
    const rows = 'select from alerts.reported_conditions where workspace_id = $1';
    expect((await service.database.pool.query(rows, [tenant.workspaceId])).rowCount).toBe(0);
  });

  test('the quota of the next month sends an event, also if no evaluation has seen the end of the last one', async () => {
    const { tenant } = service.newOwner();
    const lastMs = Date.UTC(today.getUTCFullYear(), today.getUTCMonth() + 2) - 60_000;
    for (const [i, ms] of [lastMs, lastMs + 120_000].entries()) {
      nowMs = ms;
      await use(tenant, 85);
      await untilCount(tenant, i + 1);
    }
    nowMs = tenthMs;
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
