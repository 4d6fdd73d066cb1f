import { waitUntil } from '@rms/testkit';
import type { Client } from 'pg';

/** Waits until the operational events of all services are in the feeds. */
export async function untilEventsStored(db: Client): Promise<void> {
  const queued = ['auth', 'alerts', 'webhooks'].map((schema) => `select from ${schema}.operational_events`);
  await waitUntil(async () => (await db.query(queued.join(' union all '))).rowCount === 0, {
    what: 'the operational events to be stored',
  });
}

/** Waits until the results of makeOwned no longer change: events published, deliveries counted, the alert sent. */
export async function untilAtRest(db: Client): Promise<void> {
  await waitUntil(async () => (await db.query('select from outbox.events')).rowCount === 0, {
    what: 'an empty outbox',
  });
  await waitUntil(
    async () => {
      const { rows } = await db.query(
        `select (select sum(attempts) from alerts.delivery_counts where webhook_id = '' and period = 'month') as attempts,
                (select count(*) from alerts.incidents) as incidents,
                (select count(*) from alerts.notifications) as notifications`,
      );
      const [{ attempts, incidents, notifications }] = rows;
      return attempts === '6' && incidents === '1' && notifications === '0';
    },
    { what: 'the alert of the owner' },
  );
  await untilEventsStored(db);
}
