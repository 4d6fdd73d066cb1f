import { type Duration, durationMs, timestampFromMs } from '@bufbuild/protobuf/wkt';
import { idTime } from '@rms/base/ids';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perSuite, waitUntil } from '@rms/testkit';
import { aMinuteAgo, startReplayScene } from './replay-support.ts';

describe('the number of deliveries of a replay', () => {
  const scene = perSuite(startReplayScene);

  test('reports the number of deliveries and the duration in a dry run, without other effects', async () => {
    const { tenant, replay } = await scene.skipping(25);
    const dryRun = { ...replay, dryRun: true };
    const response = await scene.rms.deliveries.replayDeliveries({ ...dryRun, perSecond: 10 });
    expect(response.count).toBe(25n);
    expect(durationMs(response.duration as Duration)).toBe(2_500);
    expect(response.replay).toBeUndefined();
    const odd = await scene.rms.deliveries.replayDeliveries({ ...dryRun, perSecond: 786 });
    expect(durationMs(odd.duration as Duration)).toBe(32);
    expect(await scene.countOf(tenant, DeliveryStatus.SKIPPED)).toBe(25);
    const counted = async (more: object) => (await scene.rms.deliveries.replayDeliveries({ ...dryRun, ...more })).count;
    expect(await counted({ statuses: [DeliveryStatus.SKIPPED] })).toBe(25n);
    expect(await counted({ statuses: [DeliveryStatus.FAILED, DeliveryStatus.DELIVERED] })).toBe(0n);
    expect(await counted({ eventType: 'resource.deleted' })).toBe(0n);
    expect(await counted({ until: aMinuteAgo() })).toBe(0n);
    expect(await counted({ since: timestampFromMs(Date.now() + 60_000) })).toBe(0n);
  });

  test('counts a bounded number of deliveries, of the log and of the queue; the number is then a minimum', async () => {
    const { tenant, id, replay } = await scene.skipping(1);
    const first = "webhooks.first_id('dlv', now() - n * interval '1 ms') || lpad(n::text, 16, '0')";
    await scene.rms.database.pool.query(
      `insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                          request_id, status, origin, attempts, created_at)
       select workspace_id, environment, ${first}, event_id, webhook_id, event_type, resource_id, request_id, status,
              origin, attempts, now()
         from webhooks.delivery_log, generate_series(1, 10001) as n where webhook_id = $1`,
      [id],
    );
    const dryRun = (more: object) => scene.rms.deliveries.replayDeliveries({ ...replay, dryRun: true, ...more });
    expect(await dryRun({})).toMatchObject({ count: 10_000n, countIsMinimum: true });
    expect(await dryRun({ eventType: 'resource.deleted' })).toMatchObject({ count: 0n, countIsMinimum: true });
    const log = await scene.rms.list(tenant, { pageSize: 1_000 });
    const recent = timestampFromMs(idTime(log.at(-1)?.id ?? ''));
    const counted = await dryRun({ since: recent });
    expect(counted.countIsMinimum).toBe(false);
    expect(Number(counted.count)).toBeGreaterThanOrEqual(1_000);

    const { replay: started } = await scene.rms.deliveries.replayDeliveries({ ...replay, perSecond: 1 });
    expect(started).toMatchObject({ total: 0n, replayed: 1n });
    await scene.rms.deliveries.cancelReplay({ ...tenant, id: started?.id ?? '' });
    // The replay may have queued more than one delivery before it was canceled.
    const queued = 'select from webhooks.deliveries where webhook_id = $1';
    await waitUntil(async () => (await scene.rms.database.pool.query(queued, [id])).rowCount === 0, {
      what: 'the end of the replayed deliveries',
    });
    await scene.rms.database.pool.query(
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
});
