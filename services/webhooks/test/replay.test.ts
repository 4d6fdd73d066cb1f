import { type Duration, durationMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { listAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { ReplayStatus } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { replayNext, takeReplay } from '../src/replay/replay-queries.ts';
import { newEvent, newTenant, startWebhooks, type Tenant, type Webhooks } from './support.ts';

const aMinuteAgo = () => timestampFromMs(Date.now() - 60_000);

describe('a replay', () => {
  let rms: Webhooks;
  let receiver: Receiver;
  beforeAll(async () => {
    rms = await startWebhooks();
    receiver = await startReceiver();
  });
  afterAll(async () => {
    await rms?.stop();
    await receiver?.close();
  });

  const setStatus = (tenant: Tenant, id: string, status: WebhookStatus) =>
    rms.webhooks.updateWebhook({ ...tenant, id, status });
  /** A webhook that was disabled while so many events came. */
  const skipping = async (count: number, type = 'resource.created') => {
    const tenant = newTenant();
    const { webhook } = await rms.webhooks.createWebhook({ ...tenant, url: receiver.url, events: ['*'] });
    const id = webhook?.id ?? '';
    await setStatus(tenant, id, WebhookStatus.DISABLED);
    await rms.publish(...Array.from({ length: count }, () => newEvent(tenant, type)));
    await setStatus(tenant, id, WebhookStatus.ACTIVE);
    return { tenant, id, replay: { ...tenant, webhookId: id, since: aMinuteAgo() } };
  };
  const countOf = async (tenant: Tenant, status: DeliveryStatus) => (await rms.list(tenant, { status })).length;

  test('says beforehand how many deliveries it takes, and how long; and does nothing', async () => {
    const { tenant, replay } = await skipping(25);
    const dryRun = { ...replay, dryRun: true };
    const answer = await rms.deliveries.replayDeliveries({ ...dryRun, perSecond: 10 });
    expect(answer.count).toBe(25n);
    expect(durationMs(answer.duration as Duration)).toBe(2_500);
    expect(answer.replay).toBeUndefined();
    expect(await countOf(tenant, DeliveryStatus.SKIPPED)).toBe(25);
    const counted = async (more: object) => (await rms.deliveries.replayDeliveries({ ...dryRun, ...more })).count;
    expect(await counted({ statuses: [DeliveryStatus.SKIPPED] })).toBe(25n);
    expect(await counted({ statuses: [DeliveryStatus.FAILED, DeliveryStatus.DELIVERED] })).toBe(0n);
    expect(await counted({ eventType: 'resource.deleted' })).toBe(0n);
    expect(await counted({ until: aMinuteAgo() })).toBe(0n);
    expect(await counted({ since: timestampFromMs(Date.now() + 60_000) })).toBe(0n);
  });

  test('sends what was skipped, marked as its own, in the order of the events; the audit log tells who asked', async () => {
    const { tenant, id, replay } = await skipping(7);
    const byPerson = { context: { requestId: 'req_7', actor: 'operator:bob@laptop' } };
    const answer = await rms.deliveries.replayDeliveries({ ...replay, perSecond: 5 }, byPerson);
    const replayId = answer.replay?.id ?? '';
    expect(answer.replay).toMatchObject({
      webhookId: id,
      status: ReplayStatus.RUNNING,
      total: 7n,
      replayed: 5n,
      perSecond: 5,
      createdBy: 'operator:bob@laptop',
    });
    const ended = await waitUntil(
      async () => {
        const { replay: now } = await rms.deliveries.getReplay({ ...tenant, id: replayId });
        return now?.status === ReplayStatus.DONE && now;
      },
      { what: 'the end of the replay' },
    );
    expect(ended.replayed).toBe(7n);
    const log = await rms.settled(tenant, 7);
    expect(log.map(({ status, origin }) => [status, origin])).toEqual(
      log.map(() => [DeliveryStatus.DELIVERED, replayId]),
    );
    const { count } = await rms.deliveries.replayDeliveries({ ...replay, dryRun: true });
    expect(count).toBe(0n);
    const cancelled = await rms.deliveries.cancelReplay({ ...tenant, id: replayId }, byPerson);
    expect(cancelled.replay?.status).toBe(ReplayStatus.DONE);
    const entries = await listAudit(rms.database.pool, {
      workspaceId: tenant.workspaceId,
      targetId: id,
      action: 'deliveries.replayed',
      since: undefined,
      before: undefined,
      limit: 10,
    });
    expect(entries).toMatchObject([
      { actor: 'operator:bob@laptop', requestId: 'req_7', details: { replay_id: replayId } },
    ]);
  });

  test('takes a second`s worth at a time, oldest first', async () => {
    const { tenant, replay } = await skipping(12);
    const { pool } = rms.database;
    const dueAgain = (id: string, when: string) =>
      pool.query(`update webhooks.replays set next_at = ${when} where id = $1`, [id]);
    const begun = await rms.deliveries.replayDeliveries({ ...replay, perSecond: 5 });
    const id = begun.replay?.id ?? '';
    // Not for the service from here on.
    await dueAgain(id, "now() + interval '1 hour'");
    const step = () =>
      inTransaction(pool, async (tx) => {
        await tx.query("update webhooks.replays set next_at = now() - interval '1 day' where id = $1", [id]);
        const taken = await takeReplay(tx);
        expect(taken?.id).toBe(id);
        const sent = taken ? await replayNext(tx, taken, taken.perSecond) : 0;
        const { rows } = await tx.query<{ ms: string }>(
          'select extract(epoch from next_at - now()) * 1000 as ms from webhooks.replays where id = $1',
          [id],
        );
        expect(Number(rows[0]?.ms)).toBe(1_000);
        await tx.query("update webhooks.replays set next_at = now() + interval '1 hour' where id = $1", [id]);
        return sent;
      });
    const left = async () => (await rms.list(tenant, { status: DeliveryStatus.SKIPPED })).map((one) => one.id).sort();
    const before = await left();
    expect(before).toHaveLength(7);
    expect(await step()).toBe(5);
    expect(await left()).toEqual(before.slice(5));
    expect(await step()).toBe(2);
    expect(await left()).toEqual([]);
    expect((await rms.deliveries.getReplay({ ...tenant, id })).replay).toMatchObject({
      status: ReplayStatus.DONE,
      replayed: 12n,
    });
    expect(await inTransaction(pool, takeReplay)).toBeUndefined();
  });

  test('that is cancelled takes no more, and stays cancelled', async () => {
    const { tenant, replay } = await skipping(30);
    const { replay: begun } = await rms.deliveries.replayDeliveries({ ...replay, perSecond: 1 });
    const id = begun?.id ?? '';
    const { replay: cancelled } = await rms.deliveries.cancelReplay({ ...tenant, id });
    expect(cancelled?.status).toBe(ReplayStatus.CANCELLED);
    const replayed = Number(cancelled?.replayed);
    expect(await countOf(tenant, DeliveryStatus.SKIPPED)).toBe(30 - replayed);
    await rms.database.pool.query("update webhooks.replays set next_at = now() - interval '1 day' where id = $1", [id]);
    expect(await inTransaction(rms.database.pool, takeReplay)).toBeUndefined();
    expect((await rms.deliveries.getReplay({ ...tenant, id })).replay).toEqual(cancelled);
    expect((await rms.deliveries.cancelReplay({ ...tenant, id })).replay).toEqual(cancelled);
    await rms.settled(tenant, 30);
    expect(await countOf(tenant, DeliveryStatus.DELIVERED)).toBe(replayed);
    const { rowCount } = await rms.database.pool.query(
      "select from audit.entries where target_id = $1 and action = 'replay.cancelled'",
      [id],
    );
    expect(rowCount).toBeGreaterThan(0);
  });

  test('takes what it is asked for: by status, type and time; what fails again is not taken twice', async () => {
    const { tenant, id, replay } = await skipping(2, 'resource.updated');
    await rms.webhooks.updateWebhook({ ...tenant, id, retryPolicy: { maxRetries: 0 } });
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant), newEvent(tenant), newEvent(tenant));
    await rms.settled(tenant, 5);
    const failed = { ...replay, statuses: [DeliveryStatus.FAILED], eventType: 'resource.created', perSecond: 2 };
    const { replay: begun } = await rms.deliveries.replayDeliveries(failed);
    receiver.respondWith(500);
    await waitUntil(
      async () => {
        const { replay: now } = await rms.deliveries.getReplay({ ...tenant, id: begun?.id ?? '' });
        return now?.status === ReplayStatus.DONE;
      },
      { what: 'the end of the replay' },
    );
    const log = await rms.settled(tenant, 5);
    receiver.respondWith(200);
    const attempts = (status: DeliveryStatus) =>
      log.filter((one) => one.status === status).map((one) => one.attempts.length);
    expect(attempts(DeliveryStatus.FAILED)).toEqual([2, 2, 2]);
    expect(attempts(DeliveryStatus.SKIPPED)).toEqual([0, 0]);
    const delivered = { ...replay, statuses: [DeliveryStatus.DELIVERED] };
    expect((await rms.deliveries.replayDeliveries(delivered)).count).toBe(0n);
    await rms.deliveries.replayDeliveries({ ...replay, eventType: 'resource.updated' });
    await waitUntil(async () => (await countOf(tenant, DeliveryStatus.DELIVERED)) === 2, { what: 'the skipped ones' });
    await rms.deliveries.replayDeliveries(delivered);
    await waitUntil(
      async () => (await rms.list(tenant, { eventType: 'resource.updated' })).every((one) => one.attempts.length === 2),
      { what: 'the delivered ones again' },
    );
  });

  test('is refused for what it cannot take', async () => {
    const { tenant, id, replay } = await skipping(1);
    const refused = async (more: object, code: string) =>
      expect(rms.deliveries.replayDeliveries({ ...replay, ...more })).rejects.toMatchObject({ code });
    await refused({ statuses: [DeliveryStatus.PENDING] }, 'invalid_request');
    await refused({ statuses: [DeliveryStatus.UNSPECIFIED] }, 'invalid_request');
    await refused({ perSecond: -1 }, 'invalid_request');
    await refused({ perSecond: 10_001 }, 'invalid_request');
    await refused({ since: undefined }, 'invalid_request');
    await refused({ webhookId: 'wh_none' }, 'not_found');
    await setStatus(tenant, id, WebhookStatus.DISABLED);
    await refused({}, 'conflict');
    const notFound = { code: 'not_found' };
    await expect(rms.deliveries.getReplay({ ...tenant, id: 'rpl_none' })).rejects.toMatchObject(notFound);
    await expect(rms.deliveries.cancelReplay({ ...tenant, id: 'rpl_none' })).rejects.toMatchObject(notFound);
  });

  test('is of its environment: the other one neither sees nor ends it, both together do', async () => {
    const { tenant, replay } = await skipping(2);
    const { replay: begun } = await rms.deliveries.replayDeliveries({ ...replay, perSecond: 1 });
    const id = begun?.id ?? '';
    const { workspaceId } = tenant;
    const { getReplay, cancelReplay } = rms.deliveries;
    for (const ask of [getReplay, cancelReplay]) {
      for (const environment of [Environment.SANDBOX, 99 as Environment]) {
        await expect(ask({ workspaceId, environment, id })).rejects.toMatchObject({
          code: environment === Environment.SANDBOX ? 'not_found' : 'internal_error',
        });
      }
    }
    expect((await getReplay({ ...tenant, id })).replay?.status).not.toBe(ReplayStatus.CANCELLED);
    expect((await getReplay({ workspaceId, id })).replay).toMatchObject({ id, environment: Environment.LIVE });
    expect((await cancelReplay({ workspaceId, id })).replay).toMatchObject({ id, environment: Environment.LIVE });
  });
});
