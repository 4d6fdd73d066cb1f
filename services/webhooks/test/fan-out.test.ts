import { startReceiver, waitUntil } from '@rms/testkit';
import { newEvent, newTenant, startWebhooks } from './support.ts';

test('a statement of fan-out that takes too long has less to do the next time, and nothing is lost or doubled', async () => {
  const rms = await startWebhooks();
  const receiver = await startReceiver();
  const tenant = newTenant();
  await rms.webhooks.createWebhook({ ...tenant, url: receiver.url, events: ['*'] });
  const { pool } = rms.database;
  const holder = await pool.connect();
  await holder.query('begin');
  await holder.query('lock table webhooks.feeds');
  const events = Array.from({ length: 40 }, () => newEvent(tenant));
  const published = rms.publish(...events);
  // As the deadline of a statement does: 500 events at once become 250, 125, 62, 31.
  let lastTry = '';
  const cancel = async () => {
    const { rows } = await pool.query<{ started: string }>(
      `select query_start::text as started, pg_cancel_backend(pid) from pg_stat_activity
        where application_name = 'webhooks' and wait_event_type = 'Lock' and datname = current_database()
          and query_start::text <> $1`,
      [lastTry],
    );
    lastTry = rows[0]?.started ?? lastTry;
    return rows.length === 1;
  };
  for (let i = 0; i < 4; i += 1) await waitUntil(cancel, { what: `try ${i + 1} of fan-out`, everyMs: 5 });
  await holder.query('rollback');
  holder.release();
  await published;
  await rms.settled(tenant, 40);
  expect(receiver.requests).toHaveLength(40);
  const { rows } = await pool.query(
    'select count(distinct xmin::text)::int as transactions, count(distinct position)::int as places from webhooks.events',
  );
  expect(rows).toEqual([{ transactions: 2, places: 40 }]);
  await receiver.close();
  await rms.stop();
});
