import { type Duration, durationFromMs, durationMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { listAudit } from '@rms/audit';
import { inTransaction } from '@rms/db';
import { idTime, newId } from '@rms/ids';
import { Environment } from '@rms/proto/rms/common/v1/common_pb';
import { ReplayStatus } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { WebhookStatus } from '@rms/proto/rms/webhooks/v1/webhook_pb';
import { type Receiver, startReceiver, waitUntil } from '@rms/testkit';
import { replayNext, takeReplay } from '../src/replay/step-queries.ts';
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
  /** Makes a webhook that was disabled while `count` events arrived. */
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

  test('reports the number of deliveries and the duration in a dry run, without other effects', async () => {
    const { tenant, replay } = await skipping(25);
    const dryRun = { ...replay, dryRun: true };
    const response = await rms.deliveries.replayDeliveries({ ...dryRun, perSecond: 10 });
    expect(response.count).toBe(25n);
    expect(durationMs(response.duration as Duration)).toBe(2_500);
    expect(response.replay).toBeUndefined();
    const odd = await rms.deliveries.replayDeliveries({ ...dryRun, perSecond: 786 });
    expect(durationMs(odd.duration as Duration)).toBe(32);
    expect(await countOf(tenant, DeliveryStatus.SKIPPED)).toBe(25);
    const counted = async (more: object) => (await rms.deliveries.replayDeliveries({ ...dryRun, ...more })).count;
    expect(await counted({ statuses: [DeliveryStatus.SKIPPED] })).toBe(25n);
    expect(await counted({ statuses: [DeliveryStatus.FAILED, DeliveryStatus.DELIVERED] })).toBe(0n);
    expect(await counted({ eventType: 'resource.deleted' })).toBe(0n);
    expect(await counted({ until: aMinuteAgo() })).toBe(0n);
    expect(await counted({ since: timestampFromMs(Date.now() + 60_000) })).toBe(0n);
  });

  test('counts a bounded number of deliveries, of the log and of the queue; the number is then a minimum', async () => {
    const { tenant, id, replay } = await skipping(1);
    const first = "webhooks.first_id('dlv', now() - n * interval '1 ms') || lpad(n::text, 16, '0')";
    await rms.database.pool.query(
      `insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                          request_id, status, origin, attempts, created_at)
       select workspace_id, environment, ${first}, event_id, webhook_id, event_type, resource_id, request_id, status,
              origin, attempts, now()
         from webhooks.delivery_log, generate_series(1, 10001) as n where webhook_id = $1`,
      [id],
    );
    const dryRun = (more: object) => rms.deliveries.replayDeliveries({ ...replay, dryRun: true, ...more });
    expect(await dryRun({})).toMatchObject({ count: 10_000n, countIsMinimum: true });
    expect(await dryRun({ eventType: 'resource.deleted' })).toMatchObject({ count: 0n, countIsMinimum: true });
    const log = await rms.list(tenant, { pageSize: 1_000 });
    const recent = timestampFromMs(idTime(log.at(-1)?.id ?? ''));
    const counted = await dryRun({ since: recent });
    expect(counted.countIsMinimum).toBe(false);
    expect(Number(counted.count)).toBeGreaterThanOrEqual(1_000);

    const { replay: started } = await rms.deliveries.replayDeliveries({ ...replay, perSecond: 1 });
    expect(started).toMatchObject({ total: 0n, replayed: 1n });
    await rms.deliveries.cancelReplay({ ...tenant, id: started?.id ?? '' });
    // The replay may have queued more than one delivery before it was canceled.
    const queued = 'select from webhooks.deliveries where webhook_id = $1';
    await waitUntil(async () => (await rms.database.pool.query(queued, [id])).rowCount === 0, {
      what: 'the end of the replayed deliveries',
    });
    await rms.database.pool.query(
      `insert into webhooks.deliveries (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                        sequence, request_id, tries, due_at)
       select workspace_id, environment, ${first}, event_id, webhook_id, event_type, resource_id, 1, request_id, 1,
              now() + interval '1 hour'
         from (select * from webhooks.delivery_log where webhook_id = $1 limit 1) as one, generate_series(1, 10001) as n`,
      [id],
    );
    const retrying = { statuses: [DeliveryStatus.RETRYING] };
    expect(await dryRun(retrying)).toMatchObject({ count: 10_000n, countIsMinimum: true });
  });

  test('sends skipped deliveries in event order with its ID as origin, and the audit log has the actor', async () => {
    const { tenant, id, replay } = await skipping(7);
    const byOperator = { context: { requestId: 'req_7', actor: 'operator:bob@laptop' } };
    const response = await rms.deliveries.replayDeliveries({ ...replay, perSecond: 5 }, byOperator);
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
    const canceled = await rms.deliveries.cancelReplay({ ...tenant, id: replayId }, byOperator);
    expect(canceled.replay?.status).toBe(ReplayStatus.DONE);
    const entries = await listAudit(rms.database.pool, {
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

  test('sends one second of deliveries per step, oldest first', async () => {
    const { tenant, replay } = await skipping(12);
    const { pool } = rms.database;
    const makeDueColumns = (id: string, when: string) =>
      pool.query(`update webhooks.replays set next_at = ${when} where id = $1`, [id]);
    const started = await rms.deliveries.replayDeliveries({ ...replay, perSecond: 5 });
    const id = started.replay?.id ?? '';
    // From here on, the service does not pick up the replay.
    await makeDueColumns(id, "now() + interval '1 hour'");
    const step = () =>
      inTransaction(pool, async (tx) => {
        await tx.query("update webhooks.replays set next_at = now() - interval '1 day' where id = $1", [id]);
        const taken = await takeReplay(tx);
        expect(taken?.id).toBe(id);
        const sent = taken ? await replayNext(tx, taken) : 0;
        const { rows } = await tx.query<{ ms: string }>(
          'select extract(epoch from next_at - now()) * 1000 as ms from webhooks.replays where id = $1',
          [id],
        );
        expect(Number(rows[0]?.ms)).toBe(1_000);
        await tx.query("update webhooks.replays set next_at = now() + interval '1 hour' where id = $1", [id]);
        return sent;
      });
    const skippedIds = async () =>
      (await rms.list(tenant, { status: DeliveryStatus.SKIPPED })).map((one) => one.id).sort();
    const before = await skippedIds();
    expect(before).toHaveLength(7);
    expect(await step()).toBe(5);
    expect(await skippedIds()).toEqual(before.slice(5));
    expect(await step()).toBe(2);
    expect(await skippedIds()).toEqual([]);
    expect((await rms.deliveries.getReplay({ ...tenant, id })).replay).toMatchObject({
      status: ReplayStatus.DONE,
      replayed: 12n,
    });
    expect(await inTransaction(pool, takeReplay)).toBeUndefined();
  });

  test('is postponed if its step fails, and delays no other replay', async () => {
    const { tenant: broken, replay: stuck } = await skipping(3);
    const { tenant, replay } = await skipping(3);
    const { pool } = rms.database;
    const { replay: first } = await rms.deliveries.replayDeliveries({ ...stuck, perSecond: 1 });
    await pool.query(
      `create function webhooks.refuse() returns trigger language plpgsql as
         $$ begin raise exception 'refused'; end $$;
       create trigger refuse before insert on webhooks.deliveries for each row
         when (new.workspace_id = '${broken.workspaceId}' and new.origin <> 'event') execute function webhooks.refuse();
       update webhooks.replays set next_at = now() - interval '1 day' where id = '${first?.id}'`,
    );
    const failures = async () => {
      const { rows } = await pool.query<{ failures: number }>('select failures from webhooks.replays where id = $1', [
        first?.id,
      ]);
      return rows[0]?.failures ?? 0;
    };
    await waitUntil(async () => (await failures()) > 0, { what: 'a failed step' });
    await rms.deliveries.replayDeliveries({ ...replay, perSecond: 2 });
    await waitUntil(async () => (await countOf(tenant, DeliveryStatus.DELIVERED)) === 3, { what: 'the other replay' });
    await pool.query('drop trigger refuse on webhooks.deliveries; drop function webhooks.refuse()');
    await pool.query('update webhooks.replays set next_at = now() where id = $1', [first?.id]);
    await waitUntil(async () => (await countOf(broken, DeliveryStatus.DELIVERED)) === 3, { what: 'the first replay' });
    expect(await failures()).toBe(0);
  });

  test('a step is bounded in bytes, and the next step sends the remaining deliveries', async () => {
    const { tenant, replay } = await skipping(4);
    const { pool } = rms.database;
    // Three deliveries exceed 8 MiB.
    await pool.query(
      `update webhooks.delivery_log
          set attempts = (select jsonb_build_array(jsonb_build_object('number', 1, 'at', now(), 'status_code', 500,
                                   'error', 'status: 500', 'duration_ms', 1, 'response_body', string_agg(md5(n::text), '')))
                            from generate_series(1, 100000) as n)
        where workspace_id = $1`,
      [tenant.workspaceId],
    );
    const { replay: started } = await rms.deliveries.replayDeliveries(replay);
    expect(started).toMatchObject({ status: ReplayStatus.RUNNING, total: 4n, replayed: 3n });
    const done = await waitUntil(
      async () => {
        const { replay: now } = await rms.deliveries.getReplay({ ...tenant, id: started?.id ?? '' });
        return now?.status === ReplayStatus.DONE && now;
      },
      { what: 'the end of the replay' },
    );
    expect(done.replayed).toBe(4n);
  });

  test('reads a bounded number of rows per step, and finds the few matching deliveries behind many others', async () => {
    const { id, replay } = await skipping(1, 'resource.updated');
    const { pool } = rms.database;
    // Older deliveries of another type, in the log; the matching one is the newest.
    await pool.query(
      `insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                          request_id, status, origin, attempts, created_at)
       select workspace_id, environment, webhooks.first_id('dlv', now() - n * interval '1 ms') || lpad(n::text, 16, '0'),
              event_id, webhook_id, 'resource.created', resource_id, request_id, status, origin, attempts, now()
         from webhooks.delivery_log, generate_series(1, 12000) as n where webhook_id = $1`,
      [id],
    );
    const { replay: started } = await rms.deliveries.replayDeliveries({ ...replay, eventType: 'resource.updated' });
    const replayId = started?.id ?? '';
    expect(started).toMatchObject({ status: ReplayStatus.RUNNING, replayed: 0n });
    const done = await waitUntil(
      async () => {
        const { replay: now } = await rms.deliveries.getReplay({ ...replay, id: replayId });
        return now?.status === ReplayStatus.DONE && now;
      },
      { what: 'the end of the replay' },
    );
    expect(done.replayed).toBe(1n);
  });

  test('is rejected if its workspace has 20 running replays; ended ones do not count', async () => {
    const { tenant, replay } = await skipping(3);
    const { pool } = rms.database;
    const start = async () => (await rms.deliveries.replayDeliveries({ ...replay, perSecond: 1 })).replay?.id ?? '';
    const first = await start();
    // From here on, the service does not continue the replays.
    await pool.query(
      `insert into webhooks.replays (workspace_id, environment, id, webhook_id, statuses, since, until, per_second,
                                     status, total, created_by, next_at)
       select workspace_id, environment, id || n, webhook_id, statuses, since, until, per_second, 'running', total,
              created_by, now() + interval '1 hour'
         from webhooks.replays, generate_series(2, 20) as n where id = $1`,
      [first],
    );
    await pool.query(
      "update webhooks.replays set status = 'running', next_at = now() + interval '1 hour' where id = $1",
      [first],
    );
    await expect(start()).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('20 running') });
    await rms.deliveries.cancelReplay({ ...tenant, id: first });
    await start();
  });

  test('sends nothing more after it is canceled, and stays canceled', async () => {
    const { tenant, replay } = await skipping(30);
    const { replay: started } = await rms.deliveries.replayDeliveries({ ...replay, perSecond: 1 });
    const id = started?.id ?? '';
    const { replay: canceled } = await rms.deliveries.cancelReplay({ ...tenant, id });
    expect(canceled?.status).toBe(ReplayStatus.CANCELED);
    const replayed = Number(canceled?.replayed);
    expect(await countOf(tenant, DeliveryStatus.SKIPPED)).toBe(30 - replayed);
    await rms.database.pool.query("update webhooks.replays set next_at = now() - interval '1 day' where id = $1", [id]);
    expect(await inTransaction(rms.database.pool, takeReplay)).toBeUndefined();
    expect((await rms.deliveries.getReplay({ ...tenant, id })).replay).toEqual(canceled);
    expect((await rms.deliveries.cancelReplay({ ...tenant, id })).replay).toEqual(canceled);
    await rms.settled(tenant, 30);
    expect(await countOf(tenant, DeliveryStatus.DELIVERED)).toBe(replayed);
    const { rowCount } = await rms.database.pool.query(
      "select from audit.entries where target_id = $1 and action = 'replay.cancelled'",
      [id],
    );
    expect(rowCount).toBeGreaterThan(0);
  });

  test('selects by status, type and time, and sends each delivery only once, even if it fails again', async () => {
    const { tenant, id, replay } = await skipping(2, 'resource.updated');
    await rms.webhooks.updateWebhook({ ...tenant, id, retryPolicy: { maxRetries: 0 } });
    receiver.respondWith(500);
    await rms.publish(newEvent(tenant), newEvent(tenant), newEvent(tenant));
    await rms.settled(tenant, 5);
    const failed = { ...replay, statuses: [DeliveryStatus.FAILED], eventType: 'resource.created', perSecond: 2 };
    const { replay: started } = await rms.deliveries.replayDeliveries(failed);
    receiver.respondWith(500);
    await waitUntil(
      async () => {
        const { replay: now } = await rms.deliveries.getReplay({ ...tenant, id: started?.id ?? '' });
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
    await waitUntil(async () => (await countOf(tenant, DeliveryStatus.DELIVERED)) === 2, {
      what: 'the skipped deliveries',
    });
    await rms.deliveries.replayDeliveries(delivered);
    await waitUntil(
      async () => (await rms.list(tenant, { eventType: 'resource.updated' })).every((one) => one.attempts.length === 2),
      { what: 'the repeated deliveries' },
    );
  });

  test('during an outage sends retrying deliveries immediately, with a full set of retries', async () => {
    const { tenant, id, replay } = await skipping(1);
    const delay = durationFromMs(3_600_000);
    const retryPolicy = { maxRetries: 1, initialDelay: delay, maxDelay: delay };
    await rms.webhooks.updateWebhook({ ...tenant, id, retryPolicy });
    receiver.respondWith(400);
    await rms.publish(newEvent(tenant), newEvent(tenant));
    const { RETRYING, SKIPPED, FAILED, PENDING } = DeliveryStatus;
    await waitUntil(async () => (await countOf(tenant, RETRYING)) === 2, { what: 'the first attempts' });
    const counted = async (statuses?: DeliveryStatus[]) =>
      Number((await rms.deliveries.replayDeliveries({ ...replay, dryRun: true, ...(statuses && { statuses }) })).count);
    expect(await counted([RETRYING])).toBe(2);
    expect(await counted([PENDING])).toBe(0);
    expect(await counted([RETRYING, SKIPPED, RETRYING])).toBe(3);
    expect(await counted([FAILED, PENDING])).toBe(0);
    // By default, a replay includes every delivery that should have arrived by now.
    expect(await counted()).toBe(3);
    // Without a full set of retries, the second attempt would be the last one.
    await rms.deliveries.replayDeliveries({ ...replay, statuses: [RETRYING] });
    await waitUntil(
      async () =>
        (await rms.list(tenant, { status: RETRYING })).filter((one) => one.attempts.length === 2).length === 2,
      { what: 'the repeated attempts' },
    );
    receiver.respondWith(200);
    const { replay: started } = await rms.deliveries.replayDeliveries(replay);
    expect(started).toMatchObject({ total: 3n });
    const log = await rms.settled(tenant, 3);
    expect(log.map((one) => [one.status, one.origin, one.attempts.length]).sort()).toEqual([
      [DeliveryStatus.DELIVERED, started?.id, 1],
      [DeliveryStatus.DELIVERED, started?.id, 3],
      [DeliveryStatus.DELIVERED, started?.id, 3],
    ]);
  });

  test('of an ordered webhook keeps the order of the events of a resource', async () => {
    const { tenant, id, replay } = await skipping(0);
    const delay = durationFromMs(3_600_000);
    const retryPolicy = { maxRetries: 1, initialDelay: delay, maxDelay: delay };
    await rms.webhooks.updateWebhook({ ...tenant, id, ordered: true, retryPolicy });
    receiver.respondWith(400);
    const resourceId = newId('res');
    const events = [1n, 2n, 3n].map((sequence) => ({
      ...newEvent(tenant, 'resource.updated', 'thing', resourceId),
      sequence,
    }));
    const { PENDING, RETRYING } = DeliveryStatus;
    await rms.publish(...events);
    await waitUntil(async () => (await countOf(tenant, RETRYING)) === 1, { what: 'the first attempt' });
    expect(await countOf(tenant, PENDING)).toBe(2);
    receiver.respondWith(200);
    const before = receiver.requests.length;
    await rms.deliveries.replayDeliveries({ ...replay, statuses: [PENDING, RETRYING] });
    await rms.settled(tenant, 3);
    expect(receiver.requests.slice(before).map(({ json }) => json.id)).toEqual(events.map((event) => event.id));
  });

  test('rejects invalid requests', async () => {
    const { tenant, id, replay } = await skipping(1);
    const refused = async (more: object, code: string) =>
      expect(rms.deliveries.replayDeliveries({ ...replay, ...more })).rejects.toMatchObject({ code });
    await refused({ statuses: [DeliveryStatus.FAILED, 99 as DeliveryStatus] }, 'invalid_request');
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

  test('is only visible in its own environment or in a request for both', async () => {
    const { tenant, replay } = await skipping(2);
    const { replay: started } = await rms.deliveries.replayDeliveries({ ...replay, perSecond: 1 });
    const id = started?.id ?? '';
    const { workspaceId } = tenant;
    const { getReplay, cancelReplay } = rms.deliveries;
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
