import type { Queryable } from '@rms/postgres/db';
import { type DeliveryJob, longestLeaseMs } from '../attempt/job.ts';
import { isDelivery } from './delivery-key.ts';

/** Releases unattempted deliveries. They are due immediately, for any instance with capacity. */
export async function releaseUnattempted(db: Queryable, given: readonly DeliveryJob[]): Promise<void> {
  const jobs = [...given].sort((a, b) => (a.id < b.id ? -1 : 1));
  await db.query({
    name: 'deliveries-give-back',
    text: `
      update webhooks.deliveries as d set due_at = now(), leased_until = null
        from unnest($1::text[], $2::text[], $3::text[], $4::integer[]) as job (workspace_id, environment, id, lease)
       where ${isDelivery('job')} and d.lease = job.lease`,
    values: [
      jobs.map(({ workspaceId }) => workspaceId),
      jobs.map(({ environment }) => environment),
      jobs.map(({ id }) => id),
      jobs.map(({ lease }) => lease),
    ],
  });
}

/** Ends the leases of all first attempts immediately. Correct only if no other instance is running. */
export async function releaseLeases(db: Queryable): Promise<void> {
  await db.query(`
    update webhooks.deliveries set due_at = now(), leased_until = null
     where due_at > now() and due_at <= now() + ${longestLeaseMs} * interval '1 millisecond' and tries = 0`);
}
