import { inTransaction } from '@rms/postgres/db';
import { ReplayStatus } from '@rms/proto/rms/webhooks/v1/deliveries_service_pb';
import { DeliveryStatus } from '@rms/proto/rms/webhooks/v1/delivery_pb';
import { perSuite, waitUntil } from '@rms/testkit';
import { replayNext, takeReplay } from '../../src/delivery/replayer.ts';
import { startReplayScene } from './replay-support.ts';

describe('the steps of a replay', () => {
  const scene = perSuite(startReplayScene);

  test('sends one second of deliveries per step, oldest first', async () => {
    const { tenant, replay } = await scene.skipping(12);
    const { pool } = scene.rms.database;
    const makeDueColumns = (id: string, when: string) =>
      pool.query(`update webhooks.replays set next_at = ${when} where id = $1`, [id]);
    const started = await scene.rms.deliveries.replayDeliveries({ ...replay, perSecond: 5 });
    const id = started.replay?.id ?? '';
    // From here on, the service does not pick up the replay.
    await makeDueColumns(id, "now() + interval '5 minutes'");
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
        await tx.query("update webhooks.replays set next_at = now() + interval '5 minutes' where id = $1", [id]);
        return sent;
      });
    const skippedIds = async () =>
      (await scene.rms.list(tenant, { status: DeliveryStatus.SKIPPED })).map((one) => one.id).sort();
    const before = await skippedIds();
    expect(before).toHaveLength(7);
    expect(await step()).toBe(5);
    expect(await skippedIds()).toEqual(before.slice(5));
    expect(await step()).toBe(2);
    expect(await skippedIds()).toEqual([]);
    expect((await scene.rms.deliveries.getReplay({ ...tenant, id })).replay).toMatchObject({
      status: ReplayStatus.DONE,
      replayed: 12n,
    });
    // Other tests' replays may be due.
    expect((await inTransaction(pool, takeReplay))?.id).not.toBe(id);
  });

  test('is postponed if its step fails, and delays no other replay', async () => {
    const { tenant: broken, replay: stuck } = await scene.skipping(3);
    const { tenant, replay } = await scene.skipping(3);
    const { pool } = scene.rms.database;
    const { replay: first } = await scene.rms.deliveries.replayDeliveries({ ...stuck, perSecond: 1 });
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
    await scene.rms.deliveries.replayDeliveries({ ...replay, perSecond: 2 });
    await waitUntil(async () => (await scene.countOf(tenant, DeliveryStatus.DELIVERED)) === 3, {
      what: 'the other replay',
    });
    await pool.query('drop trigger refuse on webhooks.deliveries; drop function webhooks.refuse()');
    await pool.query('update webhooks.replays set next_at = now() where id = $1', [first?.id]);
    await waitUntil(async () => (await scene.countOf(broken, DeliveryStatus.DELIVERED)) === 3, {
      what: 'the first replay',
    });
    expect(await failures()).toBe(0);
  });

  test('a step is bounded in bytes, and the next step sends the remaining deliveries', async () => {
    const { tenant, replay } = await scene.skipping(4);
    const { pool } = scene.rms.database;
    // Three deliveries exceed 8 MiB.
    await pool.query(
      `update webhooks.delivery_log
          set attempts = (select jsonb_build_array(jsonb_build_object('number', 1, 'at', now(), 'status_code', 500,
                                   'error', 'status: 500', 'duration_ms', 1, 'response_body', string_agg(md5(n::text), '')))
                            from generate_series(1, 100000) as n)
        where workspace_id = $1`,
      [tenant.workspaceId],
    );
    const { replay: started } = await scene.rms.deliveries.replayDeliveries(replay);
    expect(started).toMatchObject({ status: ReplayStatus.RUNNING, total: 4n, replayed: 3n });
    const done = await waitUntil(
      async () => {
        const { replay: now } = await scene.rms.deliveries.getReplay({ ...tenant, id: started?.id ?? '' });
        return now?.status === ReplayStatus.DONE && now;
      },
      { what: 'the end of the replay' },
    );
    expect(done.replayed).toBe(4n);
  });

  test('reads a bounded number of rows per step, and finds the few matching deliveries behind many others', async () => {
    const { id, replay } = await scene.skipping(1, 'resource.updated');
    const { pool } = scene.rms.database;
    // Older deliveries of another type, in the log; the matching one is the newest.
    await pool.query(
      `insert into webhooks.delivery_log (workspace_id, environment, id, event_id, webhook_id, event_type, resource_id,
                                          request_id, status, origin, attempts, created_at)
       select workspace_id, environment, webhooks.first_id('dlv', now() - n * interval '1 ms') || lpad(n::text, 16, '0'),
              event_id, webhook_id, 'resource.created', resource_id, request_id, status, origin, attempts, now()
         from webhooks.delivery_log, generate_series(1, 12000) as n where webhook_id = $1`,
      [id],
    );
    const { replay: started } = await scene.rms.deliveries.replayDeliveries({
      ...replay,
      eventType: 'resource.updated',
    });
    const replayId = started?.id ?? '';
    expect(started).toMatchObject({ status: ReplayStatus.RUNNING, replayed: 0n });
    const done = await waitUntil(
      async () => {
        const { replay: now } = await scene.rms.deliveries.getReplay({ ...replay, id: replayId });
        return now?.status === ReplayStatus.DONE && now;
      },
      { what: 'the end of the replay' },
    );
    expect(done.replayed).toBe(1n);
  });

  test('is rejected if its workspace has 20 running replays; ended ones do not count', async () => {
    const { tenant, replay } = await scene.skipping(3);
    const { pool } = scene.rms.database;
    const start = async () =>
      (await scene.rms.deliveries.replayDeliveries({ ...replay, perSecond: 1 })).replay?.id ?? '';
    const first = await start();
    // From here on, the service does not continue the replays.
    await pool.query(
      `insert into webhooks.replays (workspace_id, environment, id, webhook_id, statuses, since, until, per_second,
                                     status, total, created_by, next_at)
       select workspace_id, environment, id || n, webhook_id, statuses, since, until, per_second, 'running', total,
              created_by, now() + interval '5 minutes'
         from webhooks.replays, generate_series(2, 20) as n where id = $1`,
      [first],
    );
    await pool.query(
      "update webhooks.replays set status = 'running', next_at = now() + interval '5 minutes' where id = $1",
      [first],
    );
    await expect(start()).rejects.toMatchObject({ code: 'conflict', message: expect.stringContaining('20 running') });
    await scene.rms.deliveries.cancelReplay({ ...tenant, id: first });
    await start();
  });

  test('sends nothing more after it is canceled, and stays canceled', async () => {
    const { tenant, replay } = await scene.skipping(30);
    const { replay: started } = await scene.rms.deliveries.replayDeliveries({ ...replay, perSecond: 1 });
    const id = started?.id ?? '';
    const { replay: canceled } = await scene.rms.deliveries.cancelReplay({ ...tenant, id });
    expect(canceled?.status).toBe(ReplayStatus.CANCELED);
    const replayed = Number(canceled?.replayed);
    expect(await scene.countOf(tenant, DeliveryStatus.SKIPPED)).toBe(30 - replayed);
    await scene.rms.database.pool.query(
      "update webhooks.replays set next_at = now() - interval '1 day' where id = $1",
      [id],
    );
    expect((await inTransaction(scene.rms.database.pool, takeReplay))?.id).not.toBe(id);
    expect((await scene.rms.deliveries.getReplay({ ...tenant, id })).replay).toEqual(canceled);
    expect((await scene.rms.deliveries.cancelReplay({ ...tenant, id })).replay).toEqual(canceled);
    await scene.rms.settled(tenant, 30);
    expect(await scene.countOf(tenant, DeliveryStatus.DELIVERED)).toBe(replayed);
    const { rowCount } = await scene.rms.database.pool.query(
      "select from audit.entries where target_id = $1 and action = 'replay.canceled'",
      [id],
    );
    expect(rowCount).toBeGreaterThan(0);
  });
});
