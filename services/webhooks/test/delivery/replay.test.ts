import { listAudit } from '@rms/postgres/audit';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { ReplayStatus } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { perSuite, waitUntil } from '@rms/testkit';
import { laneOf, newEvent, retries } from '../support.ts';
import { startReplayScene } from './replay-support.ts';

describe('a replay', () => {
  const scene = perSuite(startReplayScene);

  test('sends skipped deliveries in event order with its ID as origin, and the audit log has the actor', async () => {
    const { tenant, id, replay } = await scene.skipping(7);
    const byOperator = { context: { requestId: 'req_7', actor: 'operator:bob@laptop' } };
    const response = await scene.rms.deliveries.replayDeliveries({ ...replay, perSecond: 5 }, byOperator);
    const replayId = response.replay?.id ?? '';
    expect(response.replay).toMatchObject({
      webhookId: id,
      status: ReplayStatus.RUNNING,
      total: 7n,
      replayed: 5n,
      perSecond: 5,
      createdBy: 'operator:bob@laptop',
    });
    const ended = await waitUntil(
      async () => {
        const { replay: now } = await scene.rms.deliveries.getReplay({ ...tenant, id: replayId });
        return now?.status === ReplayStatus.DONE && now;
      },
      { what: 'the end of the replay' },
    );
    expect(ended.replayed).toBe(7n);
    const log = await scene.rms.settled(tenant, 7);
    expect(log.map(({ status, origin }) => [status, origin])).toEqual(
      log.map(() => [DeliveryStatus.DELIVERED, replayId]),
    );
    const { count } = await scene.rms.deliveries.replayDeliveries({ ...replay, dryRun: true });
    expect(count).toBe(0n);
    const canceled = await scene.rms.deliveries.cancelReplay({ ...tenant, id: replayId }, byOperator);
    expect(canceled.replay?.status).toBe(ReplayStatus.DONE);
    const entries = await listAudit(scene.rms.database.pool, {
      workspaceId: tenant.workspaceId,
      targetId: id,
      action: 'deliveries.replayed',
      since: undefined,
      start: undefined,
      limit: 10,
    });
    expect(entries).toMatchObject([
      { actor: 'operator:bob@laptop', requestId: 'req_7', details: { replay_id: replayId } },
    ]);
  });

  test('selects by status, type and time, and sends each delivery only once, even if it fails again', async () => {
    const { tenant, id, replay } = await scene.skipping(2, 'resource.updated');
    await scene.rms.webhooks.updateWebhook({ ...tenant, id, retryPolicy: { maxRetries: 0 } });
    scene.receiver.respondWith(500);
    await scene.rms.publish(newEvent(tenant), newEvent(tenant), newEvent(tenant));
    await scene.rms.settled(tenant, 5);
    const failed = { ...replay, statuses: [DeliveryStatus.FAILED], eventType: 'resource.created', perSecond: 2 };
    const { replay: started } = await scene.rms.deliveries.replayDeliveries(failed);
    scene.receiver.respondWith(500);
    await waitUntil(
      async () => {
        const { replay: now } = await scene.rms.deliveries.getReplay({ ...tenant, id: started?.id ?? '' });
        return now?.status === ReplayStatus.DONE;
      },
      { what: 'the end of the replay' },
    );
    const log = await scene.rms.settled(tenant, 5);
    scene.receiver.respondWith(200);
    const attempts = (status: DeliveryStatus) =>
      log.filter((one) => one.status === status).map((one) => one.attempts.length);
    expect(attempts(DeliveryStatus.FAILED)).toEqual([2, 2, 2]);
    expect(attempts(DeliveryStatus.SKIPPED)).toEqual([0, 0]);
    const delivered = { ...replay, statuses: [DeliveryStatus.DELIVERED] };
    expect((await scene.rms.deliveries.replayDeliveries(delivered)).count).toBe(0n);
    await scene.rms.deliveries.replayDeliveries({ ...replay, eventType: 'resource.updated' });
    await waitUntil(async () => (await scene.countOf(tenant, DeliveryStatus.DELIVERED)) === 2, {
      what: 'the skipped deliveries',
    });
    await scene.rms.deliveries.replayDeliveries(delivered);
    await waitUntil(
      async () =>
        (await scene.rms.list(tenant, { eventType: 'resource.updated' })).every((one) => one.attempts.length === 2),
      { what: 'the repeated deliveries' },
    );
  });

  test('during an outage sends retrying deliveries immediately, with a full set of retries', async () => {
    const { tenant, id, replay } = await scene.skipping(1);
    await scene.rms.webhooks.updateWebhook({ ...tenant, id, retryPolicy: retries(1, 3_600_000) });
    scene.receiver.respondWith(400);
    await scene.rms.publish(newEvent(tenant), newEvent(tenant));
    const { RETRYING, SKIPPED, FAILED, PENDING } = DeliveryStatus;
    await scene.rms.retrying(tenant, 2);
    const counted = async (statuses?: DeliveryStatus[]) =>
      Number(
        (await scene.rms.deliveries.replayDeliveries({ ...replay, dryRun: true, ...(statuses && { statuses }) })).count,
      );
    expect(await counted([RETRYING])).toBe(2);
    expect(await counted([PENDING])).toBe(0);
    expect(await counted([RETRYING, SKIPPED, RETRYING])).toBe(3);
    expect(await counted([FAILED, PENDING])).toBe(0);
    // By default, a replay includes every delivery that should have arrived by now.
    expect(await counted()).toBe(3);
    // Without a full set of retries, the second attempt would be the last one.
    await scene.rms.deliveries.replayDeliveries({ ...replay, statuses: [RETRYING] });
    await waitUntil(
      async () =>
        (await scene.rms.list(tenant, { status: RETRYING })).filter((one) => one.attempts.length === 2).length === 2,
      { what: 'the repeated attempts' },
    );
    scene.receiver.respondWith(200);
    const { replay: started } = await scene.rms.deliveries.replayDeliveries(replay);
    expect(started).toMatchObject({ total: 3n });
    const log = await scene.rms.settled(tenant, 3);
    expect(log.map((one) => [one.status, one.origin, one.attempts.length]).sort()).toEqual([
      [DeliveryStatus.DELIVERED, started?.id, 1],
      [DeliveryStatus.DELIVERED, started?.id, 3],
      [DeliveryStatus.DELIVERED, started?.id, 3],
    ]);
  });

  test('of an ordered webhook keeps the order of the events of a resource', async () => {
    const { tenant, id, replay } = await scene.skipping(0);
    await scene.rms.webhooks.updateWebhook({ ...tenant, id, ordered: true, retryPolicy: retries(1, 3_600_000) });
    scene.receiver.respondWith(400);
    const events = laneOf(tenant, 3);
    const { PENDING, RETRYING } = DeliveryStatus;
    await scene.rms.publish(...events);
    await scene.rms.retrying(tenant);
    expect(await scene.countOf(tenant, PENDING)).toBe(2);
    scene.receiver.respondWith(200);
    const before = scene.receiver.requests.length;
    await scene.rms.deliveries.replayDeliveries({ ...replay, statuses: [PENDING, RETRYING] });
    await scene.rms.settled(tenant, 3);
    expect(scene.receiver.requests.slice(before).map(({ json }) => json.id)).toEqual(events.map((event) => event.id));
  });

  test('rejects invalid requests', async () => {
    const { tenant, id, replay } = await scene.skipping(1);
    const refused = async (more: object, code: string) =>
      expect(scene.rms.deliveries.replayDeliveries({ ...replay, ...more })).rejects.toMatchObject({ code });
    await refused({ statuses: [DeliveryStatus.FAILED, 99 as DeliveryStatus] }, 'invalid_request');
    await refused({ statuses: [DeliveryStatus.UNSPECIFIED] }, 'invalid_request');
    await refused({ perSecond: -1 }, 'invalid_request');
    await refused({ perSecond: 10_001 }, 'invalid_request');
    await refused({ since: undefined }, 'invalid_request');
    await refused({ webhookId: 'wh_none' }, 'not_found');
    await scene.setStatus(tenant, id, WebhookStatus.DISABLED);
    await refused({}, 'conflict');
    const notFound = { code: 'not_found' };
    await expect(scene.rms.deliveries.getReplay({ ...tenant, id: 'rpl_none' })).rejects.toMatchObject(notFound);
    await expect(scene.rms.deliveries.cancelReplay({ ...tenant, id: 'rpl_none' })).rejects.toMatchObject(notFound);
  });

  test('is only visible in its own environment or in a request for both', async () => {
    const { tenant, replay } = await scene.skipping(2);
    const { replay: started } = await scene.rms.deliveries.replayDeliveries({ ...replay, perSecond: 1 });
    const id = started?.id ?? '';
    const { workspaceId } = tenant;
    const { getReplay, cancelReplay } = scene.rms.deliveries;
    for (const ask of [getReplay, cancelReplay]) {
      for (const environment of [Environment.SANDBOX, 99 as Environment]) {
        await expect(ask({ workspaceId, environment, id })).rejects.toMatchObject({
          code: environment === Environment.SANDBOX ? 'not_found' : 'invalid_request',
        });
      }
    }
    expect((await getReplay({ ...tenant, id })).replay?.status).not.toBe(ReplayStatus.CANCELED);
    expect((await getReplay({ workspaceId, id })).replay).toMatchObject({ id, environment: Environment.LIVE });
    expect((await cancelReplay({ workspaceId, id })).replay).toMatchObject({ id, environment: Environment.LIVE });
  });
});
